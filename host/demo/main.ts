/**
 * `haumea demo`: the whole job on one machine. An embedded MQTT broker, a simulated fleet that publishes to it, the
 * engine as a process of its own, one stream and two rules made through its REST interface, their results read back
 * from the broker and shown live. Everything is removed at the end.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { HaumeaError, reasonOf } from '../base/errors.js';
import { readOptions } from '../base/program/options.js';
import type { ClusterDemoOptions } from './cluster.js';
import { DemoEngine } from './engine.js';
import { Fleet } from './fleet.js';
import { type DemoFigures, Screen } from './screen.js';
import { Sender } from './sender.js';

const VEHICLES = 200;
const RATE = 5000;
const CLUSTER = { seconds: 20, rate: 1000, nodes: 3, rules: 9 };
/** Timers reach no further. */
const MAX_SECONDS = 2_000_000;

const HELP = `usage: haumea demo [--seconds N] [--rate N] [--cluster [--nodes N] [--rules N] [--json]]

  --seconds N   stop by itself after so many seconds (default: Ctrl-C ends it)
  --rate N      messages a second of the fleet (default ${RATE}; with --cluster ${CLUSTER.rate})
  --cluster     start NATS and three nodes instead, kill one, and count rows, moves and losses
  --nodes N     with --cluster: so many nodes
  --rules N     with --cluster: so many rules, each with a part of the messages (default ${CLUSTER.rules})
  --json        with --cluster: the figures as JSON
`;

/** Runs the demo; returns the exit code. */
export async function main(argv: string[]): Promise<number> {
  const args = readArgs(argv);
  if (args === undefined) return 2;
  if (args.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (args.cluster !== undefined) {
    const { clusterDemo } = await import('./cluster.js');
    return clusterDemo(args.cluster, interruption());
  }
  const { seconds, rate } = args;
  const { Aedes } = await import('aedes').catch((cause) => {
    throw new HaumeaError('connection', 'the demo needs the package "aedes" (npm install aedes)', { cause });
  });
  const { env } = process;
  const restPort = await freePort('REST', env.KUIPER__BASIC__RESTPORT, 9081);
  const dataPort = await freePort('the data server', env.KUIPER__SOURCE__HTTPSERVERPORT, 10_081);
  const broker = await Aedes.createBroker();
  const brokerServer = createServer(broker.handle);
  await listen(brokerServer, 0);
  const brokerPort = (brokerServer.address() as AddressInfo).port;
  const folder = mkdtempSync(join(tmpdir(), 'haumea-demo-'));
  const engine = new DemoEngine({ folder, restPort, dataPort, env });
  const interrupted = interruption();
  let stopFleet = () => {};
  const run = async () => {
    await engine.answers();
    await define(engine, brokerPort);
    process.stdout.write(
      `haumea demo: ${VEHICLES} vehicles send ${rate} messages a second over MQTT (broker on port ` +
        `${brokerPort}), engine at ${engine.base}\n`,
    );
    stopFleet = runFleet(broker, screenOf(engine.base, folder), rate);
    await (seconds > 0 ? pause(seconds * 1000, undefined, { ref: false }) : interrupted);
  };
  try {
    await Promise.race([run(), interrupted, engine.crashed]);
    return 0;
  } catch (error) {
    process.stderr.write(`haumea demo: ${reasonOf(error)}\n`);
    return 1;
  } finally {
    stopFleet();
    await engine.close();
    await new Promise<void>((resolve) => broker.close(() => resolve()));
    brokerServer.close();
    rmSync(folder, { recursive: true, force: true });
    process.stdout.write('demo ended, everything removed\n');
  }
}

interface Args {
  readonly help: boolean;
  readonly seconds: number;
  readonly rate: number;
  /** Options of the demo of a cluster; undefined for that of one engine. */
  readonly cluster: ClusterDemoOptions | undefined;
}

/** Reads the options; a mistake is told, and nothing returned. */
function readArgs(argv: string[]): Args | undefined {
  try {
    const { values } = readOptions({
      args: argv,
      options: {
        seconds: { type: 'string' },
        rate: { type: 'string' },
        cluster: { type: 'boolean', default: false },
        nodes: { type: 'string', default: String(CLUSTER.nodes) },
        rules: { type: 'string', default: String(CLUSTER.rules) },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const { cluster: isCluster, json: isJson } = values;
    const seconds = Number(values.seconds ?? (isCluster ? CLUSTER.seconds : 0));
    const rate = Number(values.rate ?? (isCluster ? CLUSTER.rate : RATE));
    const [nodes, rules] = [Number(values.nodes), Number(values.rules)];
    if (!(seconds >= 0 && seconds <= MAX_SECONDS)) {
      throw new Error(`--seconds must be a number up to ${MAX_SECONDS}, not ${values.seconds}`);
    }
    if (!(rate > 0 && rate < Infinity)) throw new Error(`--rate must be a number above 0, not ${values.rate}`);
    for (const [name, count] of Object.entries({ nodes, rules })) {
      if (!(Number.isInteger(count) && count > 0 && count <= 1000))
        throw new Error(`--${name} must be a whole number from 1 to 1000, not ${count}`);
    }
    const cluster = isCluster ? { seconds: seconds || CLUSTER.seconds, rate, nodes, rules, isJson } : undefined;
    return { help: values.help, seconds, rate, cluster };
  } catch (error) {
    process.stderr.write(`haumea demo: ${reasonOf(error)}\n\n${HELP}`);
    return undefined;
  }
}

/** Resolves when the user ends the demo: by a signal, or by closing what reads its output. */
function interruption(): Promise<unknown> {
  const closed = new Promise<void>((resolve) => {
    // Later lines fail as well.
    process.stdout.on('error', () => resolve());
  });
  return Promise.race([closed, ...['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal))]);
}

/** Makes the stream of the fleet and the two rules. */
async function define(engine: DemoEngine, brokerPort: number): Promise<void> {
  const server = `tcp://127.0.0.1:${brokerPort}`;
  const actions = (topic: string): object[] => [{ mqtt: { server, topic, qos: 0 } }];
  await engine.call('PUT', '/metadata/sources/mqtt/confKeys/demo', { server, qos: 0 });
  await engine.call('POST', '/streams', {
    sql:
      'CREATE STREAM fleet (vehicle STRING, speed FLOAT, temp FLOAT, odometer FLOAT, ts BIGINT) WITH (TYPE="mqtt", ' +
      'DATASOURCE="fleet/+/state", FORMAT="json", CONF_KEY="demo", SHARED="true")',
  });
  await engine.call('POST', '/rules', {
    id: 'averages',
    sql:
      'SELECT vehicle, count(*) AS n, avg(speed) AS avg_speed, max(temp) AS max_temp FROM fleet GROUP BY vehicle, ' +
      'TUMBLINGWINDOW(ss, 2)',
    actions: actions('result/averages'),
  });
  await engine.call('POST', '/rules', {
    id: 'alerts',
    sql: 'SELECT vehicle, speed, temp FROM fleet WHERE speed > 120',
    actions: actions('result/alerts'),
  });
}

/** Elsewhere than on a terminal, which redraws them with the figures, the hints are written once. */
function screenOf(base: string, folder: string): Screen {
  const hints = [
    `curl ${base}/rules`,
    `curl ${base}/rules/alerts/status`,
    `curl ${base}/rules/averages/explain`,
    `curl -X POST ${base}/rules -d '{"id":"hot","sql":"SELECT vehicle, temp FROM fleet WHERE temp > ` +
      `95","actions":[{"file":{"path":"hot.txt"}}]}'`,
    `tail -F ${join(folder, 'hot.txt')}`,
    'Ctrl-C ends the demo and removes everything.',
  ];
  const title = 'Try in another terminal:';
  if (process.stdout.isTTY) return new Screen(process.stdout, [title, ...hints]);
  process.stdout.write(`${title}\n${hints.map((hint) => `  ${hint}\n`).join('')}`);
  return new Screen(process.stdout, []);
}

interface Broker {
  publish(packet: object, done: (error?: Error) => void): void;
  subscribe(
    topic: string,
    deliver: (packet: { payload: Buffer | string }, done: () => void) => void,
    done: () => void,
  ): void;
}

/** Publishes the fleet's messages and shows what comes back; returns how to stop it. */
function runFleet(broker: unknown, screen: Screen, rate: number): () => void {
  const { publish, subscribe } = bind(broker as Broker);
  const fleet = new Fleet(VEHICLES);
  const figures: DemoFigures = { inRate: 0, outRate: 0, totalIn: 0, totalOut: 0, averages: [], alerts: [] };
  subscribe('result/averages', (payload) => {
    const rows = JSON.parse(payload) as DemoFigures['averages'];
    figures.totalOut += rows.length;
    figures.averages = rows.sort((a, b) => b.avg_speed - a.avg_speed);
  });
  subscribe('result/alerts', (payload) => {
    for (const row of JSON.parse(payload) as { vehicle: string; speed: number }[]) {
      figures.totalOut++;
      figures.alerts.unshift(`${new Date().toLocaleTimeString()}  ${row.vehicle} at ${row.speed} km/h`);
    }
    figures.alerts.length = Math.min(figures.alerts.length, 6);
  });
  const sender = new Sender(rate, (delivered) => {
    const { vehicle, payload } = fleet.report(VEHICLES / rate);
    publish(`fleet/${vehicle}/state`, payload, delivered);
  });
  let lastIn = 0;
  let lastOut = 0;
  let lastAt = performance.now();
  const painter = setInterval(() => {
    const now = performance.now();
    figures.totalIn = sender.sent;
    figures.inRate = ((figures.totalIn - lastIn) * 1000) / (now - lastAt);
    figures.outRate = ((figures.totalOut - lastOut) * 1000) / (now - lastAt);
    lastIn = figures.totalIn;
    lastOut = figures.totalOut;
    lastAt = now;
    screen.show(figures);
  }, 1000);
  return () => {
    sender.stop();
    clearInterval(painter);
  };
}

function bind(broker: Broker) {
  return {
    publish(topic: string, payload: string, delivered: () => void): void {
      broker.publish({ cmd: 'publish', topic, payload, qos: 0, retain: false, dup: false }, delivered);
    },
    subscribe(topic: string, take: (payload: string) => void): void {
      broker.subscribe(
        topic,
        (packet, done) => {
          take(packet.payload.toString());
          done();
        },
        () => undefined,
      );
    },
  };
}

function listen(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
}

/** The port that the environment names, or the usual one; another when it is in use, and says so. `what` needs it. */
async function freePort(what: string, given: string | undefined, usual: number): Promise<number> {
  const wished = given ? Number(given) : usual;
  if (!(Number.isInteger(wished) && wished >= 0 && wished < 65_536)) {
    throw new HaumeaError('config', `the port of ${what} must be a number up to 65535, not ${given}`);
  }
  const server = createServer();
  const isFree = await listen(server, wished).then(
    () => true,
    () => false,
  );
  if (!isFree) await listen(server, 0);
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  if (!isFree) process.stdout.write(`port ${wished} is in use, ${what} takes ${port}\n`);
  return port;
}
