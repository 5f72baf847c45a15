"""What a device's numbers cost a network: how far off its layers are, what each costs."""
