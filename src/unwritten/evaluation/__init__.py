"""The one loop that lets readers answer items, its log, its items."""
