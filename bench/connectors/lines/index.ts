/** All lines, by connector and direction. */
import type { Line } from '../line.js';
import { brokerLines } from './brokers/index.js';
import { databaseLines } from './databases/index.js';
import { fileLines } from './files/index.js';
import { formatLines } from './formats/index.js';
import { httpLines } from './http/index.js';

export const lines: readonly Line[] = [...fileLines, ...httpLines, ...brokerLines, ...databaseLines, ...formatLines];
