"""What builds write in each precision, loaded and asked by vLLM beside the native engine."""
