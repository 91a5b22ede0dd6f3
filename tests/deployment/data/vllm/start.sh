#!/bin/sh
export HF_HOME=/models   # vllm is started below
vllm serve meta-llama/Llama-3.2-3B-Instruct --max-model-len 8k --max-num-seqs=96 \
  --max-num-batched-tokens 3072 --gpu-memory-utilization 0.85 --no-enable-prefix-caching --kv-cache-dtype fp8 --enable-lora
python -m vllm.entrypoints.openai.api_server --model acme/tiny-chat-gptq -tp 2 --config conf/tiny.yaml
