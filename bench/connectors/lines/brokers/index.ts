/** Lines of brokers and gateways. */
import type { Line } from '../../line.js';
import { edgexLines } from './edgex.js';
import { kafkaLines } from './kafka.js';
import { memoryLines } from './memory.js';
import { mqttLines } from './mqtt.js';
import { natsLines } from './nats.js';
import { neuronLines } from './neuron.js';
import { rabbitLines } from './rabbitmq.js';
import { redisChannelLines } from './redis-channels.js';
import { redisStreamLines } from './redis-stream.js';
import { zmqLines } from './zmq.js';

export const brokerLines: readonly Line[] = [
  ...mqttLines,
  ...kafkaLines,
  ...natsLines,
  ...rabbitLines,
  ...redisChannelLines,
  ...redisStreamLines,
  ...zmqLines,
  ...memoryLines,
  ...edgexLines,
  ...neuronLines,
];
