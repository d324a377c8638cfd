/** Runs the job of a workload in plain JavaScript, measured as an engine is. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunOptions } from '../context.js';
import { Generator } from '../generator.js';
import { cpuMs, endProcess, memoryOf, pause, startNode } from '../process.js';
import { blankResult, type RunResult, setCosts } from '../result.js';
import { check, lastResult, sendFor, warmUp } from '../throughput.js';
import { workloadByName } from '../workloads/index.js';

/** Starts the plain program on the workload and measures it; results are checked the same way. */
export async function runTwinOf(options: RunOptions): Promise<RunResult> {
  const { role, dataSet, seconds } = options;
  const workload = workloadByName(options.workload);
  const folder = mkdtempSync(join(tmpdir(), 'haumea-twin-'));
  const file = join(folder, 'out.txt');
  const result = blankResult(workload.name, workload.title, 'plain JS');
  result.dataSet = dataSet;
  const generator = await Generator.open(role, workload.name, dataSet);
  const started = performance.now();
  const args = [...role, 'twin', String(generator.port), file, workload.name, workload.topic];
  const twin = new TwinProcess(startNode(args, 'engine', {}, true));
  try {
    await generator.subscribed();
    result.startMs = performance.now() - started;
    await generator.send({ count: warmUp, rate: 0, perMessage: false, firstIndex: 0 });
    await twin.taken(warmUp);
    const cpuBefore = cpuMs(twin.pid);
    const began = performance.now();
    const total = await sendFor(seconds, generator, warmUp, { perMessage: false });
    await twin.taken(total);
    const ended = await lastResult(workload, file);
    setCosts(result, total - warmUp, (ended - began) / 1000, cpuMs(twin.pid) - cpuBefore);
    result.sent = total;
    result.received = twin.count;
    await check(workload, dataSet, file, total, result);
    result.peakBytes = memoryOf(twin.pid).peak;
    return result;
  } finally {
    await endProcess(twin.child);
    await generator.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

class TwinProcess {
  readonly pid: number;
  /** Messages taken so far. */
  count = 0;

  constructor(readonly child: ChildProcess) {
    this.pid = child.pid as number;
    child.on('message', (message) => {
      this.count = (message as { count: number }).count;
    });
  }

  /** Resolves when so many messages were taken. */
  async taken(count: number): Promise<void> {
    while (this.count < count) {
      if (this.child.exitCode !== null) throw new Error('the twin has ended');
      await pause(5);
    }
  }
}
