/** Points of InfluxDB, and samples of Prometheus; the programs send batches of the same size. */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import protobuf from 'protobufjs';
import {
  needsInflux,
  needsVictoria,
  openInflux,
  openVictoria,
  type VictoriaServer,
} from '../../../../test/support/servers/time-series.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, type Plain, type Row, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 100_000;
const batchSize = 1000;
/** Time of the first row, ms. */
const firstMs = 1_700_000_000_000;
const batches = { batchSize, lingerInterval: '100ms' };

const select = (stream: string) => `SELECT id, device, temperature, id + ${firstMs} AS ts FROM ${stream}`;
const point = { measurement: 'climate', tags: { device: '{{.device}}' }, tsFieldName: 'ts', precision: 'ms' };

/** Sends what `bodyOf` makes of batches of rows. */
async function sendBatches(
  { file, ready }: Plain,
  url: string,
  headers: Readonly<Record<string, string>>,
  bodyOf: (batch: readonly Row[]) => string | Buffer,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  void ready();
  let batch: Row[] = [];
  const send = async () => {
    const body = bodyOf(batch);
    batch = [];
    const all = { ...headers, 'content-length': Buffer.byteLength(body) };
    const sent = request(url, { method: 'POST', agent, headers: all });
    sent.end(body);
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    if (response.statusCode !== 204) throw new Error(`the server answers ${response.statusCode}`);
  };
  await eachLine(file, (text) => {
    batch.push(JSON.parse(work(text)) as Row);
    return batch.length < batchSize ? undefined : send();
  });
  if (batch.length > 0) await send();
}

function linesOf(batch: readonly Row[]): string {
  const lines = batch.map(
    ({ id, device, temperature }) =>
      `climate,device=${device} id=${id},temperature=${temperature} ${firstMs + (id as number)}`,
  );
  return lines.join('\n');
}

const { root } = protobuf.parse(`
  syntax = "proto3";
  message WriteRequest { repeated TimeSeries timeseries = 1; }
  message TimeSeries { repeated Label labels = 1; repeated Sample samples = 2; }
  message Label { string name = 1; string value = 2; }
  message Sample { double value = 1; int64 timestamp = 2; }`);
const WriteRequest = root.lookupType('WriteRequest');

function writeRequest(batch: readonly Row[]): Buffer {
  const timeseries = batch.map(({ id, device, temperature }) => ({
    labels: [
      { name: '__name__', value: 'plant_temperature' },
      { name: 'device', value: device },
    ],
    samples: [{ value: temperature, timestamp: firstMs + (id as number) }],
  }));
  return snappyOf(Buffer.from(WriteRequest.encode({ timeseries }).finish()));
}

/** Snappy as literals alone, which every reader of the format takes. */
function snappyOf(bytes: Buffer): Buffer {
  const head: number[] = [];
  for (let left = bytes.length; left > 0; left = Math.floor(left / 128))
    head.push((left % 128) | (left > 127 ? 128 : 0));
  const parts: Buffer[] = [Buffer.from(head)];
  for (let from = 0; from < bytes.length; from += 65_536) {
    const literal = bytes.subarray(from, from + 65_536);
    const tag = Buffer.from([61 << 2, 0, 0]);
    tag.writeUInt16LE(literal.length - 1, 1);
    parts.push(tag, literal);
  }
  return Buffer.concat(parts);
}

/** The rows that samples were made of. */
async function samplesOf(victoria: VictoriaServer, metric: string): Promise<Row[]> {
  const series = await victoria.stored(metric);
  return series.flatMap(({ metric: { device }, values, timestamps }) =>
    timestamps.map((time, i) => ({ id: time - firstMs, device, temperature: values[i] })),
  );
}

/** A VictoriaMetrics that forgets a metric, and counts its samples when a rule has ended. */
async function openCounted(metric: string, sinkOf: (url: string) => { type: string; props: object }) {
  const victoria = await openVictoria();
  const arrivals = new Arrivals(rows);
  const sink = sinkOf(victoria.url);
  return {
    address: victoria.url,
    sink: { type: sink.type, props: { ...sink.props } },
    begin: async (isChecked: boolean) => {
      arrivals.begin(isChecked);
      const gone = new URLSearchParams({ 'match[]': `{__name__=~"${metric.replace(/_.*/, '')}.*"}` });
      await fetch(`${victoria.url}/api/v1/admin/tsdb/delete_series?${gone}`, { method: 'POST' });
    },
    written: async () => {
      arrivals.takeRows(await samplesOf(victoria, metric));
      return arrivals.count;
    },
    check: () => arrivals.check(),
    close: () => victoria.close(),
  };
}

const victoriaMissing = () => (needsVictoria('the bench of series') ? undefined : 'VictoriaMetrics is not installed');

export const lines: readonly Line[] = [
  {
    name: 'influx out',
    connectors: ['influx'],
    rows,
    select,
    missing: () => (needsInflux('the bench of influx') ? undefined : 'InfluxDB is not installed'),
    open: async () => {
      const influx = await openInflux();
      const count = async () => Number((await influx.query('SELECT count(temperature) FROM climate'))[0]?.count ?? 0);
      const props = { addr: influx.url, database: 'plant', ...point, fields: ['id', 'temperature'], ...batches };
      return {
        address: influx.url,
        sink: { type: 'influx', props },
        begin: async () => {
          await influx.query('DROP MEASUREMENT climate');
        },
        written: count,
        check: async () => {
          const arrivals = new Arrivals(rows);
          arrivals.begin(true);
          arrivals.takeRows(await influx.query('SELECT * FROM climate'));
          arrivals.check();
        },
        close: () => influx.close(),
      };
    },
    plain: (work) => sendBatches(work, `${work.address}/write?db=plant&precision=ms`, {}, linesOf),
  },
  {
    name: 'influx2 out',
    connectors: ['influx2'],
    rows,
    select,
    missing: victoriaMissing,
    open: () =>
      openCounted('climate_temperature', (url) => {
        const bucket = { addr: url, org: 'o', bucket: 'b' };
        return { type: 'influx2', props: { ...bucket, ...point, fields: ['id', 'temperature'], ...batches } };
      }),
    plain: (work) => sendBatches(work, `${work.address}/api/v2/write?org=o&bucket=b&precision=ms`, {}, linesOf),
  },
  {
    name: 'prometheus out',
    connectors: ['prometheus'],
    rows,
    select,
    missing: victoriaMissing,
    open: () =>
      openCounted('plant_temperature', (url) => {
        const sample = { metric: 'plant', labels: { device: '{{.device}}' }, fields: ['temperature'] };
        return { type: 'prometheus', props: { url: `${url}/api/v1/write`, ...sample, tsFieldName: 'ts' } };
      }),
    plain: (work) => {
      const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' };
      return sendBatches(work, `${work.address}/api/v1/write`, headers, writeRequest);
    },
  },
];
