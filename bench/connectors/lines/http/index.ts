/** Lines of HTTP: requests, pulls, pushes, events and websockets. */
import type { Line } from '../../line.js';
import { pullLines } from './httppull.js';
import { pushLines } from './httppush.js';
import { restLines } from './rest.js';
import { sseLines } from './sse.js';
import { websocketLines } from './websocket.js';

export const httpLines: readonly Line[] = [...restLines, ...pushLines, ...pullLines, ...sseLines, ...websocketLines];
