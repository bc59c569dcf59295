module varve.dev

go 1.26
