/** Rules at a data plane between a connector and a file, or a file of rows and a connector. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceSpec } from '../../../host/run/link/protocol.js';
import { openPlane, passRule } from '../engine/plane.js';
import { eventually, temporaryFolder } from '../harness.js';

type Props = Record<string, unknown>;

/** Passes what a source brings to a file. */
export async function toFile(source: Partial<SourceSpec> & { type: string }) {
  const opened = await openPlane();
  const path = join(temporaryFolder(), 'out.txt');
  const rule = passRule(source, [{ type: 'file', props: { path } }]);
  await opened.plane.start(rule);
  const lines = () => (existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : []);
  const metrics = () => opened.plane.status(rule.run)!.metrics as Record<string, unknown>;
  return {
    lines,
    metrics,
    isUp: () => metrics().source_demo_0_connection_status === 1,
    /** Why the rule has ended by itself. */
    failed: async () => (await opened.report(rule.run, 'failed')).reason,
    /** What went wrong last. */
    trouble: () => String(metrics().source_demo_0_last_exception ?? ''),
    has: (count: number) =>
      eventually(`${count} lines`, () => {
        if (opened.broken !== undefined) throw opened.broken;
        return lines().length >= count;
      }),
    close: async () => {
      await opened.plane.stop(rule.run);
      await opened.plane.close();
    },
  };
}

/** Passes rows to a sink; `pace` are properties of their source. */
export async function fromRows(rows: readonly Props[], type: string, props: Props, pace: Props = {}) {
  const opened = await openPlane(undefined, { flushTimeoutMs: 60_000 });
  const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data: rows, ...pace } }, [
    { type, props },
  ]);
  await opened.plane.start(rule);
  const metrics = () => opened.plane.status(rule.run)?.metrics as Record<string, unknown> | undefined;
  const name = `sink_${type}_0_0`;
  return {
    metrics,
    isUp: () => metrics()?.[`${name}_connection_status`] === 1,
    trouble: () => String(metrics()?.[`${name}_last_exception`] ?? ''),
    ended: () => opened.report(rule.run, 'ended'),
    stop: () => opened.plane.stop(rule.run),
    close: () => opened.plane.close(),
  };
}
