"""The API's answers, as it gives them. Fields the server adds later are left in place."""
