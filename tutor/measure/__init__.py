"""Measuring a real server: send it the requests of a scenario, note when each token came, and compare with a forecast.

The load is a scenario of the simulator, so that what was measured and what is predicted are the same requests at the
same times: `plan` draws them, `run` sends them, `saved` keeps what came back, `forecast` sets it beside a simulation.
"""
