module tariff

go 1.24
