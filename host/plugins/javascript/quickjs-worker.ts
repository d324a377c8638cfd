/** Thread entry: answers the module of the engine for JavaScript with fuel written into it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { noLimits } from '../wasm/binary/limits.js';
import { meter } from '../wasm/passes/meter.js';
import { firstPages } from './memory-size.js';

const path = createRequire(import.meta.url).resolve('@jitl/quickjs-ng-wasmfile-release-sync/wasm');
parentPort?.postMessage(meter(new Uint8Array(readFileSync(path)), noLimits, firstPages));
