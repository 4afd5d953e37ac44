module room

go 1.26.0
