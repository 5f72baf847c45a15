"""What `--report` writes: one HTML file that shows a network on a device.

`documents` gathers what there is to show as plain values, without HTML; `page` makes the file of
it. Between the two is a module for each chart, which brings its numbers to a size that a page can
hold. What draws them in the browser is in `files`, as are the page and its style.
"""
