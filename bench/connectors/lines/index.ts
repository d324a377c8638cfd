/** All lines, by connector and direction. */
import type { Line } from '../line.js';
import { fileLines } from './file.js';
import { kafkaLines } from './kafka.js';
import { memoryLines } from './memory.js';
import { mqttLines } from './mqtt.js';
import { redisLines } from './redis.js';
import { restLines } from './rest.js';
import { websocketLines } from './websocket.js';

export const lines: readonly Line[] = [
  ...fileLines,
  ...kafkaLines,
  ...memoryLines,
  ...mqttLines,
  ...redisLines,
  ...restLines,
  ...websocketLines,
];
