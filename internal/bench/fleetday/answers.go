package main

type answers struct{}

func answer(w *world, all []*proxy) *answers { return &answers{} }
