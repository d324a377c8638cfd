/**
 * Kernels against each other: ns per message of the workloads in builds of the kernel, without sockets and files, in
 * strict turns. The copy into the kernel's memory counts.
 *
 *     npx tsx bench/micro/turns.ts ROUNDS WORKLOAD,… KERNEL.wasm…
 *
 * A workload is one of `haumea bench`, or a part of the name of a pair (bench/pairs) as "functions" or "join": all that
 * have it.
 *
 * Machines that others share swing by half from second to second, so the input is cut into pieces of 256 KiB and the
 * minimum of each piece counts: the sums differ by less than one percent from run to run. The host of this checkout
 * must fit all kernels given. Best pinned to one core: `taskset -c 1`, by a superuser with `nice -n -15` before it.
 */
import { readFileSync } from 'node:fs';
import { createKernel } from '../../kernels/index.js';
import { openRule } from '../../test/support/engine/rule-kernel.js';
import { mqtt } from '../../test/support/kernel/streams.js';
import { FIRST_ID, makeBlock, patchIds } from '../messages/frames.js';
import { pairs } from '../pairs/index.js';
import { engineSide, Sent } from '../pairs/measure.js';
import type { Pair } from '../pairs/pair.js';
import { workloadByName, workloadNames } from '../workloads/index.js';
import type { Workload } from '../workloads/workload.js';

const pieceBytes = 256 * 1024;
/** Time by which each piece moves the clock of windows on, ms. */
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

const compiled = new Map(kernels.map((path) => [path, new WebAssembly.Module(new Uint8Array(readFileSync(path)))]));

/** A measured round: feeds the input once and returns the time of each piece, ms. */
type Round = () => number[];

interface Job {
  readonly name: string;
  readonly messages: number;
  open(module: WebAssembly.Module): Round;
}

function workloadJob(workload: Workload): Job {
  const { bytes, messages } = inputOf(workload);
  return { name: workload.name, messages, open: (module) => open(module, workload, bytes) };
}

/** A pair begins anew in each round. */
function pairJob(pair: Pair): Job {
  const pieces = pair.input(pair.rows);
  const open = (module: WebAssembly.Module) => {
    const sent = new Sent();
    const side = engineSide(pair, module);
    return () => {
      const turn = side(sent);
      return pieces.map((piece) => {
        sent.length = 0;
        const began = performance.now();
        turn.take([piece]);
        return performance.now() - began;
      });
    };
  };
  return { name: pair.name, messages: pair.rows, open };
}

/** Opens the workload's rule in the kernel. */
function open(module: WebAssembly.Module, workload: Workload, input: Buffer): Round {
  const kernel = createKernel(
    { onOutput: () => {}, onPacket: () => {}, onAcknowledge: () => {}, call: () => {} },
    module,
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

const jobs = names
  .split(',')
  .flatMap((name) =>
    workloadNames.includes(name)
      ? workloadJob(workloadByName(name))
      : pairs.filter((pair) => pair.name.includes(name)).map(pairJob),
  );
for (const { name, messages, open } of jobs) {
  const runs = [...compiled].map(([path, module]) => ({ path, run: open(module), best: [] as number[] }));
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
    console.log(`${name.padEnd(36)} ${ns.toFixed(1).padStart(6)} ns/message  ${path}`);
  }
}
