/** Sources and rules with the sql connector, as the tests at several databases have them. */

import { loadConnector } from '../../../host/connectors/index.js';
import { payloadsOf } from '../../../host/connectors/messages/frames.js';
import { openPlane, passRule } from '../engine/plane.js';
import { openSource } from './source.js';

type Props = Record<string, unknown>;

/** What the connectors of one worker share. */
export function sharing() {
  const made = new Map<string, unknown>();
  return <T>(key: string, make: () => T): T => {
    if (!made.has(key)) made.set(key, make());
    return made.get(key) as T;
  };
}

/** Opens a source at the database; `texts` has the rows so far. */
export async function readSql(
  dburl: string,
  props: Props,
  at: {
    from?: unknown;
    dataSource?: string;
    failed?: (reason: string) => void;
    disconnected?: (reason: string) => void;
  } = {},
) {
  const { source: part } = await loadConnector('source', 'sql');
  await part!.load();
  const given = { dburl, interval: 20, ...props };
  part!.check(given);
  const { dataSource = '', from, failed = () => {}, disconnected } = at;
  const opened = await openSource(
    (context) => part!.create(given, Object.assign(context, { shared: sharing(), dataSource })),
    { from, mayFail: true, failed, ...(disconnected && { disconnected }) },
  );
  const texts = () => opened.written.flatMap((bytes) => payloadsOf(bytes).map((one) => Buffer.from(one).toString()));
  return { ...opened, texts };
}

/** Runs a rule over the rows to its end; returns its figures. */
export async function sendSql(dburl: string, data: readonly unknown[], props: Props) {
  const { plane, report } = await openPlane();
  const rule = passRule({ type: 'simulator', props: { interval: 0, loop: false, data } }, [
    { type: 'sql', props: { dburl, ...props } },
  ]);
  await plane.start(rule);
  const { metrics } = await report(rule.run, 'ended');
  await plane.close();
  return metrics;
}
