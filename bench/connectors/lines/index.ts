/** All lines, by connector and direction. */
import type { Line } from '../line.js';
import { fileLines } from './file.js';
import { fileTypeLines } from './file-types.js';
import { kafkaLines } from './kafka.js';
import { memoryLines } from './memory.js';
import { mqttLines } from './mqtt.js';
import { natsLines } from './nats.js';
import { rabbitLines } from './rabbitmq.js';
import { redisLines } from './redis.js';
import { redisStreamLines } from './redis-stream.js';
import { restLines } from './rest.js';
import { sqlLines } from './sql.js';
import { websocketLines } from './websocket.js';
import { zmqLines } from './zmq.js';

export const lines: readonly Line[] = [
  ...fileLines,
  ...fileTypeLines,
  ...kafkaLines,
  ...memoryLines,
  ...mqttLines,
  ...natsLines,
  ...rabbitLines,
  ...redisLines,
  ...redisStreamLines,
  ...restLines,
  ...sqlLines,
  ...websocketLines,
  ...zmqLines,
];
