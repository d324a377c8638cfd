module dewpoint

go 1.24
