"""The words of Placet: what is asked, what is answered, how it ended. No I/O, no clock."""
