"""What other people's front ends need of a cluster: requests to send, and what ses keeps there for them."""
