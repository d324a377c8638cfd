/**
 * Kernels against each other: ns per message of the workloads in builds of the kernel, without sockets and files, in strict
 * turns. The copy into the kernel's memory counts.
 *
 *     npx tsx bench/micro/turns.ts ROUNDS WORKLOAD,… KERNEL.wasm…
 *
 * Machines that others share swing by half from second to second, so the input is cut into pieces of 256 KiB and the
 * minimum of each piece counts: the sums differ by less than one percent from run to run. The host of this checkout must
 * fit all kernels given. Best pinned to one core: `taskset -c 1`, by a superuser with `nice -n -15` before it.
 */
import { readFileSync } from 'node:fs';
import { createKernel } from '../../kernels/index.js';
import { openRule } from '../../test/sql/rule-kernel.js';
import { mqtt } from '../../test/wasm/streams.js';
import { FIRST_ID, makeBlock, patchIds } from '../gen/frames.js';
import { workloadByName } from '../workloads/index.js';
import type { Workload } from '../workloads/workload.js';

const pieceBytes = 256 * 1024;
/** Each piece brings the clock of windows forward by so much, ms. */
const pieceMs = 20;

const [rounds, names, ...kernels] = process.argv.slice(2);
if (rounds === undefined || names === undefined || kernels.length === 0) {
  throw new Error('usage: turns.ts ROUNDS WORKLOAD,… KERNEL.wasm…');
}

/** The messages of the workload, each once. */
function inputOf(workload: Workload): { bytes: Buffer; messages: number } {
  let messages = 0;
  const blocks = workload.messages('plain').map((list) => {
    const block = makeBlock(list);
    patchIds(block, FIRST_ID + messages, 0, list.length);
    messages += list.length;
    return block.bytes;
  });
  return { bytes: Buffer.concat(blocks), messages };
}

/** Opens the workload's rule in the kernel; the function returned feeds the input once and gives the ms of each piece. */
function open(path: string, workload: Workload, input: Buffer): () => number[] {
  const kernel = createKernel(
    { onOutput: () => {}, onPacket: () => {}, onAcknowledge: () => {}, call: () => {} },
    new WebAssembly.Module(new Uint8Array(readFileSync(path))),
  );
  const rule = openRule([workload.ddl], workload.sql, {
    kernel,
    props: { fileType: 'lines' },
    declared: () => ({ ...mqtt, format: workload.name === 'w3' ? 'binary' : 'json' }),
  });
  let now = 0;
  return () => {
    const times: number[] = [];
    for (let at = 0; at < input.length; at += pieceBytes) {
      const piece = input.subarray(at, at + pieceBytes);
      const began = performance.now();
      rule.feed(workload.stream, piece, now);
      kernel.tick(now);
      times.push(performance.now() - began);
      now += pieceMs;
    }
    return times;
  };
}

for (const name of names.split(',')) {
  const workload = workloadByName(name);
  const { bytes, messages } = inputOf(workload);
  const runs = kernels.map((path) => ({ path, run: open(path, workload, bytes), best: [] as number[] }));
  // The compiler of the machine's code is done after two rounds.
  for (const { run } of runs) for (let i = 0; i < 2; i++) run();
  for (let round = 0; round < Number(rounds); round++) {
    for (const { run, best } of runs) {
      run().forEach((ms, i) => {
        best[i] = Math.min(best[i] ?? Number.POSITIVE_INFINITY, ms);
      });
    }
  }
  for (const { path, best } of runs) {
    const ns = (best.reduce((sum, ms) => sum + ms, 0) * 1e6) / messages;
    console.log(`${name.padEnd(8)} ${ns.toFixed(1).padStart(6)} ns/message  ${path}`);
  }
}
