"""What an index of some papers needs, estimated from measured points: disk, memory, nodes, hours and page times."""
