/** Statements in a whole data plane with a real kernel: rows in, an action out, whose connector is under test. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silent } from '../../../host/base/log/log.js';
import { zoneOffsetMs } from '../../../host/functions/calendar/time-zone.js';
import { callHost } from '../../../host/functions/registry.js';
import type { RuleOptions } from '../../../host/model/engine.js';
import { planRule } from '../../../host/plan/index.js';
import { Heartbeat } from '../../../host/run/link/heartbeat.js';
import type { Notice } from '../../../host/run/link/protocol.js';
// All manifests are there, as in the control plane.
import '../../../host/connectors/index.js';
import { DataPlane } from '../../../host/run/plane/data-plane.js';
import { connectorSpecs } from '../../../host/run/props/resolve.js';
import { createKernel } from '../../../kernels/index.js';
import { eventually, temporaryFolder } from '../harness.js';
import { kernelUnderTest } from '../kernel/drive.js';
import { catalogOf, noFold, ruleOf } from './planned-rules.js';

type Metrics = Readonly<Record<string, unknown>>;

export interface SinkWishes {
  readonly type: string;
  readonly props: Readonly<Record<string, unknown>>;
  /** Rows of the stream, which come from a file; without them `stream` says where they come from. */
  readonly rows?: readonly object[];
  /** Type and options of the stream, such as `TYPE="edgex"`; `extra` are further properties. */
  readonly stream?: { readonly options: string; readonly extra: object };
  readonly sql?: string;
  /** Columns of the stream `demo`, such as `id BIGINT`. */
  readonly schema?: string;
  readonly options?: Partial<RuleOptions>;
  /** Pause between two rows, ms; without it they come at once. */
  readonly pauseMs?: number;
}

export interface SinkPlane {
  metrics(): Metrics;
  /** Resolves with the figures when all rows are through. */
  ended(): Promise<Metrics>;
  close(): Promise<void>;
}

/** Starts a rule over the rows. */
export async function sinkPlane(wishes: SinkWishes): Promise<SinkPlane> {
  const {
    type,
    props,
    rows = [],
    stream,
    sql = 'SELECT * FROM demo',
    schema = '',
    options: ofRule = {},
    pauseMs = 0,
  } = wishes;
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'rows'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const { options, extra } = stream ?? {
    options: 'TYPE="file", DATASOURCE="rows"',
    extra: { path: folder, fileType: 'lines', sendInterval: pauseMs },
  };
  const properties = JSON.stringify(extra).replaceAll('"', '\\"');
  const text = `${options}, FORMAT="json", EXTRA="${properties}"`;
  const catalog = catalogOf(`CREATE STREAM demo (${schema}) WITH (${text})`);
  const rule = ruleOf(sql, { sendError: false, ...ofRule }, [{ type, props }]);
  const plan = planRule(rule, catalog, noFold);
  const specs = connectorSpecs(rule, plan, catalog);
  const notices: Notice[] = [];
  let broken: unknown;
  const plane = await DataPlane.open({
    kernel: (calls) => createKernel(calls, kernelUnderTest),
    call: callHost,
    zoneOffset: zoneOffsetMs,
    tell: (notice) => void notices.push(notice),
    log: silent,
    heartbeat: new Heartbeat(Heartbeat.allocate()),
    coalesceMs: 1,
    flushTimeoutMs: 5000,
    broken: (error) => {
      broken = error;
    },
  });
  const { sources, sinks } = specs;
  const shared = { sendError: false, zone: 'UTC', sinkLimitBytes: 1 << 20 };
  await plane.start({ id: rule.id, run: 1, plan, sources, sinks, ...shared });
  return {
    metrics: () => plane.status(1)?.metrics ?? {},
    ended: async () => {
      const notice = await eventually(
        'the end of the rule',
        () => {
          if (broken !== undefined) throw broken;
          return notices.find((one) => one.kind === 'ended' || one.kind === 'failed');
        },
        30_000,
      );
      await plane.close();
      if (notice.kind !== 'ended') throw new Error(JSON.stringify(notice));
      return notice.metrics;
    },
    close: () => plane.close(),
  };
}
