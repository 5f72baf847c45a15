"""Reports in a real browser: they render, and everything on them works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from html_report.pages import IN_BROWSER, js, load, open_all, rows_shown, settle
from html_report.reports import HOSTILE, with_hostile_names

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = IN_BROWSER


def test_it_renders_and_loads_nothing(page, shown):
    assert shown["title"] in page.title
    layers = len(shown["layers"])
    assert js(page, "document.querySelectorAll('.went li').length") == layers
    marks = [layer for layer in shown["layers"] if layer["roofline"]]
    assert js(page, "document.querySelectorAll('#roofline-chart .mark').length") == len(marks)
    assert js(page, "document.querySelectorAll('#search-curves .curve').length") == 2
    open_all(page)
    assert js(page, "document.querySelectorAll('svg.over-time').length") == layers
    memories = sum(len(layer["over_time"]["memories"]) for layer in shown["layers"])
    assert js(page, "document.querySelectorAll('canvas').length") == memories
    assert js(page, "performance.getEntriesByType('resource').length") == 0


def test_pictures_of_memories_are_drawn_where_rows_are_in_use(page, shown):
    open_all(page)
    inked = js(
        page,
        "[...document.querySelectorAll('canvas')].map((canvas) => canvas.getContext('2d')"
        ".getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0))",
    )
    maps = [memory for layer in shown["layers"] for memory in layer["over_time"]["memories"]]
    assert inked == [memory["most"] > 0 for memory in maps]
    assert any(inked)


def test_every_link_opens_what_it_names(page):
    targets = js(
        page, "[...document.querySelectorAll('a[href]')].map((a) => a.getAttribute('href'))"
    )
    assert len(targets) > 20
    for target in sorted(set(targets)):
        page.execute_script(
            "document.querySelectorAll('details').forEach((each) => (each.open = false));"
            'document.querySelector(`a[href="${arguments[0]}"]`).dispatchEvent('
            "new MouseEvent('click', {bubbles: true, cancelable: true}));",
            target,
        )
        settle(page)
        assert js(page, "location.hash") == target
        if target.startswith("#layer-"):
            opened = js(page, "[...document.querySelectorAll('details[open]')].map((d) => d.id)")
            assert opened == [target[1:]]
        # It is where the reader looks, or as near as the end of the page lets it be.
        where = "document.getElementById(arguments[0]).getBoundingClientRect().top"
        top = js(page, where, target[1:])
        left = js(page, "document.documentElement.scrollHeight - innerHeight - scrollY")
        assert -5 <= top < 40 or (left < 2 and 0 <= top < 900), target


def test_a_link_to_the_layer_that_is_named_opens_it_again(page):
    link = "document.querySelector('.went a[href=\"#layer-1\"]').click()"
    for _ in range(2):
        page.execute_script(link)
        settle(page)
        assert js(page, "document.getElementById('layer-1').open")
        page.execute_script("document.getElementById('layer-1').open = false")


def choose(browser: Chrome, control: str, value: str) -> None:
    browser.execute_script(
        "const control = document.getElementById(arguments[0]); control.value = arguments[1];"
        "for (const name of ['input', 'change']) control.dispatchEvent(new Event(name));",
        control,
        value,
    )


def test_filters_leave_the_layers_that_are_asked_for(page, shown):
    layers = shown["layers"]
    names = [layer["name"] for layer in layers]
    assert rows_shown(page) == names
    for bound in ("array", "memory", "host", ""):
        choose(page, "filter-bound", bound)
        wanted = [x["name"] for x in layers if bound in ("", x["bounds"]["largest"])]
        assert rows_shown(page) == wanted
        told = js(page, "document.getElementById('filter-count').textContent")
        assert told == f"{len(wanted)} of {len(names)} layers"
    choose(page, "filter-text", "  CONV2D ")
    assert rows_shown(page) == [name for name in names if "conv2d" in name] != names
    choose(page, "filter-text", "no such layer")
    assert rows_shown(page) == []


def test_the_table_is_ordered_by_the_column_that_is_pressed(page, shown):
    layers = shown["layers"]
    by_cycles = sorted(layers, key=lambda layer: layer["cycles"])
    press = "document.querySelectorAll('#layer-table th button')[arguments[0]].click()"
    page.execute_script(press, 4)
    assert rows_shown(page) == [layer["name"] for layer in by_cycles]
    page.execute_script(press, 4)
    descending = sorted(layers, key=lambda layer: -layer["cycles"])
    assert rows_shown(page) == [layer["name"] for layer in descending]
    sorted_by = "document.querySelectorAll('#layer-table th')[4].getAttribute('aria-sort')"
    assert js(page, sorted_by) == "descending"
    page.execute_script(press, 1)
    assert rows_shown(page) == sorted(layer["name"] for layer in layers)


def test_the_network_is_filtered_by_where_parts_run(page, shown):
    for where in ("device", "host", ""):
        choose(page, "filter-where", where)
        wanted = [row for row in shown["graph"] if where in ("", row["where"])]
        visible = "[...document.querySelectorAll('.graph li')].filter((r) => r.offsetHeight).length"
        assert js(page, visible) == len(wanted)


AXIS = "[...document.querySelectorAll('#layer-1 svg.over-time text')].map((t) => t.textContent)"


def cycles_shown(browser: Chrome) -> tuple[int, int]:
    """The first and the last cycle that the axis of layer 1 names."""
    numbers = [text.replace(",", "") for text in js(browser, AXIS)]
    cycles = [int(number) for number in numbers if number.isdigit()]
    return cycles[0], cycles[-1]


def test_a_timeline_is_zoomed_and_moved_by_buttons_keys_wheel_and_dragging(page):
    page.execute_script("document.getElementById('layer-1').open = true")
    settle(page)
    page.execute_script("document.getElementById('layer-1').scrollIntoView()")
    press = (
        "[...document.querySelectorAll('#layer-1 .controls button')]"
        ".find((button) => button.title === arguments[0]).click()"
    )
    key = (
        "document.querySelector('#layer-1 svg.over-time').dispatchEvent("
        "new KeyboardEvent('keydown', {key: arguments[0], cancelable: true}))"
    )
    whole = cycles_shown(page)
    assert whole[0] == 0
    for nearer, later, all_of_it in (
        (lambda: page.execute_script(press, "Nearer"), lambda: page.execute_script(press, "Later"),
         lambda: page.execute_script(press, "All cycles")),
        (lambda: page.execute_script(key, "+"), lambda: page.execute_script(key, "ArrowRight"),
         lambda: page.execute_script(key, "0")),
        (lambda: mouse(page, "wheel"), lambda: mouse(page, "drag"),
         lambda: page.execute_script(press, "All cycles")),
    ):  # fmt: skip
        for _ in range(3):
            nearer()
        near = cycles_shown(page)
        assert near[0] > 0 and near[1] - near[0] < (whole[1] - whole[0]) / 2
        later()
        assert cycles_shown(page)[1] > near[1]
        all_of_it()
        assert cycles_shown(page) == whole


def mouse(browser: Chrome, act: str) -> None:
    """Ctrl and the wheel over the middle of layer 1's timeline, or dragging it to the left."""
    box = js(browser, "document.querySelector('#layer-1 svg.over-time').getBoundingClientRect()")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    if act == "wheel":
        event = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -100, "modifiers": 2}
        browser.execute_cdp_cmd("Input.dispatchMouseEvent", event)
    else:
        for kind, at in (("mousePressed", x), ("mouseMoved", x - 300), ("mouseReleased", x - 300)):
            event = {"type": kind, "x": at, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
            browser.execute_cdp_cmd("Input.dispatchMouseEvent", event)
    settle(browser)


def test_pointing_at_a_picture_reads_it(page):
    page.execute_script("document.getElementById('layer-1').open = true")
    settle(page)
    point = (
        "const box = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent("
        "new PointerEvent('pointermove', "
        "{clientX: box.left + box.width / 2, clientY: box.top + 2}))"
    )
    readout = "document.querySelector('#layer-1 .readout').textContent"
    for selector, said in (("svg.over-time", "Busy: "), ("canvas", "scratchpad, rows 0 to ")):
        element = js(page, f"document.querySelector('#layer-1 {selector}')")
        page.execute_script(point, element)
        assert said in js(page, readout)


def test_hostile_names_are_shown_and_do_nothing(page, shown, tmp_path):
    hostile = with_hostile_names(shown)
    load(page, hostile, tmp_path)
    open_all(page)
    assert js(page, "typeof pwned") == "undefined"
    assert js(page, "document.querySelectorAll('img').length") == 0
    assert HOSTILE in js(page, "document.querySelector('h1').textContent")
    assert rows_shown(page) == [layer["name"] for layer in hostile["layers"]]
    captions = js(
        page, "[...document.querySelectorAll('#search figcaption a')].map((a) => a.textContent)"
    )
    assert all(HOSTILE in caption for caption in captions) and captions
