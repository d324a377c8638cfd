/** A data plane in this thread, and rules for it that pass everything from one source to their sinks. */

import { silent } from '../../../host/base/log/log.js';
import { encodeOf } from '../../../host/codecs/index.js';
import { outputForm } from '../../../host/plan/sinks/sinks.js';
import { Heartbeat } from '../../../host/run/link/heartbeat.js';
import type { Notice, RuleStart, SinkSpec, SourceSpec } from '../../../host/run/link/protocol.js';
// All manifests are there, as in the control plane.
import '../../../host/connectors/index.js';
import { DataPlane } from '../../../host/run/plane/data-plane.js';
import type { HostCalls, Kernel } from '../../../kernels/api.js';
import { col, type RulePlan } from '../../../kernels/plan/ir.js';
import { eventually } from '../harness.js';
import { output } from '../kernel/streams.js';
import { FakeKernel } from './fake-kernel.js';

export interface TestPlane {
  readonly plane: DataPlane;
  readonly reports: Notice[];
  /** Waits for the report of the kind about the run. */
  report<K extends Notice['kind']>(run: number, kind: K): Promise<Extract<Notice, { kind: K }>>;
  broken: unknown;
}

/** Opens a data plane; without a kernel of its own it gets the fake one. */
export async function openPlane(
  kernel: (calls: HostCalls) => Kernel = (calls) => new FakeKernel(calls),
  options: { flushTimeoutMs?: number; coalesceMs?: number } = {},
): Promise<TestPlane> {
  const reports: Notice[] = [];
  const opened: { broken: unknown } = { broken: undefined };
  const plane = await DataPlane.open({
    kernel,
    call: () => {},
    tell: (notice) => reports.push(notice),
    log: silent,
    heartbeat: new Heartbeat(Heartbeat.allocate()),
    coalesceMs: options.coalesceMs ?? 1,
    flushTimeoutMs: options.flushTimeoutMs ?? 2000,
    broken: (error) => {
      opened.broken = error;
    },
  });
  return Object.assign(opened, {
    plane,
    reports,
    report: <K extends Notice['kind']>(run: number, kind: K) =>
      eventually(`report ${kind} of run ${run}`, () => {
        if (opened.broken !== undefined) throw opened.broken;
        return reports.find(
          (item): item is Extract<Notice, { kind: K }> => item.kind === kind && 'run' in item && item.run === run,
        );
      }),
  });
}

let lastRun = 0;

/** A rule that passes the source's rows to the sinks. */
export function passRule(
  source: Partial<SourceSpec> & { type: string },
  sinks: SinkSpec[],
  change: Partial<RuleStart> = {},
): RuleStart {
  const run = ++lastRun;
  const plan: RulePlan = {
    sources: [{ stream: 'demo', columns: [{ kind: 'row' }] }],
    nodes: [
      {
        kind: 'encode',
        input: { source: 0 },
        program: null,
        output: {
          ...output,
          ...outputForm(sinks[0]!.type, sinks[0]!.props, encodeOf(sinks[0]!.props)!),
          shape: { kind: 'object', operand: col(0) },
        },
        actions: sinks.map((_sink, i) => i),
        name: 'op_2_project',
      },
    ],
    topology: { sources: ['source_demo'], edges: {} },
    operators: [
      { name: 'source_demo', part: 'source', source: 0, nodes: [] },
      { name: 'op_2_project', part: 'operator', nodes: [0] },
      ...sinks.map((sink, i) => ({ name: `sink_${sink.type}_${i}`, part: 'sink' as const, action: i, nodes: [0] })),
    ],
    outputFields: [],
  };
  return {
    id: `r${run}`,
    run,
    plan,
    sources: [
      {
        name: 'demo',
        dataSource: '',
        props: {},
        isShared: false,
        format: 'json',
        schema: null,
        strict: false,
        ...source,
      },
    ],
    sinks,
    sendError: false,
    zone: 'UTC',
    sinkLimitBytes: 1 << 20,
    ...change,
  };
}
