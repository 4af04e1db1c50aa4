"""Author disambiguation."""
