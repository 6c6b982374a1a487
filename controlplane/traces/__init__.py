"""Traces: what a process took how long for, told to a collector where the operator names one."""
