"""llama.cpp's server, as xllamacpp carries it, until it is killed: MODEL PORT CONTEXT KEY ALIAS."""

import sys
import time

import xllamacpp

model, port, context, key, alias = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ["127.0.0.1"]
params.port = int(port)
params.n_ctx = int(context)
params.n_parallel = 1
params.cpuparams.n_threads = 2
params.cpuparams_batch.n_threads = 2
params.embedding = True
params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
params.api_keys = [key]
params.model_alias = {alias}
params.endpoint_slots = True
server = xllamacpp.Server(params)
while True:
    time.sleep(60)
