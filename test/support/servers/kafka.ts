/** A Kafka broker of its own, which is its own controller, as far as the machine has Java and the jars. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { announceSkip, eventually, freePort, temporaryFolder } from '../harness.js';
import { askRunner } from './ask-runner.js';
import { jarFolder } from './kafka/jars.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

const missing =
  spawnSync('java', ['-version']).error !== undefined
    ? 'java is not installed'
    : existsSync(jarFolder())
      ? undefined
      : 'the jars of Kafka are not there: npx tsx test/support/servers/kafka/jars.ts';

/** Says why the tests with a broker don't run; in CI that is a failure. */
export function needsKafka(what: string): boolean {
  if (missing === undefined) return true;
  if (process.env.CI === 'true') throw new Error(`${what}: ${missing}`);
  announceSkip(what, missing);
  return false;
}

export const kafkaUser = { saslUserName: 'alice', password: 'wonderland' } as const;

/** A broker that others may have as well. */
export interface KafkaBroker {
  /** Address without login. */
  readonly brokers: string;
  /** Address with login by SCRAM-SHA-512 or PLAIN. */
  readonly saslBrokers: string;
  /** Address with TLS, if there is a certificate. */
  readonly tlsBrokers: string;
  /** Ends it, if it is one's own. */
  close(): Promise<void>;
}

export interface TestKafka extends KafkaBroker {
  /** It goes on with what it has on disk. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

/** The broker that the files of a run share: names of topics and groups belong to one file. */
export async function sharedKafka(): Promise<KafkaBroker> {
  const place = await askRunner('kafka');
  if (place === undefined) return openKafka();
  const { brokers, saslBrokers, tlsBrokers } = place as Record<string, string>;
  return { brokers: brokers!, saslBrokers: saslBrokers!, tlsBrokers: tlsBrokers!, close: async () => {} };
}

/**
 * Starts a broker on free ports; `settings` go before its own. `pem` is a file with the key and the certificate that it
 * has for TLS. Throws when the broker ends before it listens.
 */
export async function openKafka(
  settings: Readonly<Record<string, string | number>> = {},
  pem?: string,
): Promise<TestKafka> {
  const folder = temporaryFolder();
  const ports = [await freePort(), await freePort(), await freePort(), await freePort()] as const;
  const [port, saslPort, , tlsPort] = ports;
  const config = join(folder, 'server.properties');
  const all = { ...usual, ...addresses(ports, pem), 'log.dirs': join(folder, 'log'), ...settings };
  writeFileSync(
    config,
    Object.entries(all)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const { saslUserName: name, password } = kafkaUser;
  const scram = `SCRAM-SHA-512=[name=${name},password=${password}]`;
  // One that begins with a hyphen would be taken for an option.
  const id = randomBytes(16).toString('base64url').replace(/^-/, 'a');
  const made = spawnSync('java', [
    ...java('kafka.tools.StorageTool'),
    'format',
    '-t',
    id,
    '-c',
    config,
    '--add-scram',
    scram,
  ]);
  if (made.status !== 0) throw new Error(`kafka: ${made.stdout}${made.stderr}`);
  const listening = pem === undefined ? [port, saslPort] : [port, saslPort, tlsPort];
  let child: ChildProcess | undefined;
  const kafka: TestKafka = {
    brokers: `127.0.0.1:${port}`,
    saslBrokers: `127.0.0.1:${saslPort}`,
    tlsBrokers: `127.0.0.1:${tlsPort}`,
    start: async () => {
      const started = spawn('java', [...java('kafka.Kafka'), config], { stdio: ['ignore', 'pipe', 'ignore'] });
      let printed = '';
      started.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed = `${printed}${text}`.slice(-2000);
      });
      child = started;
      children.add(started);
      const listens = async (one: number) => {
        if (child === started && hasEnded(started)) throw new Error(`kafka has ended: ${printed}`);
        return (await answers(one)) || undefined;
      };
      // The broker opens its listeners one after the other.
      for (const one of listening) await eventually('kafka', () => listens(one), 60_000);
    },
    kill: async () => {
      const killed = child;
      child = undefined;
      if (killed === undefined || hasEnded(killed)) return;
      children.delete(killed);
      killed.kill('SIGKILL');
      await once(killed, 'exit');
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    close: () => kafka.kill(),
  };
  await kafka.start();
  return kafka;
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function java(main: string): string[] {
  return ['-Xmx384m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', join(jarFolder(), '*'), main];
}

function addresses(ports: readonly number[], pem: string | undefined): Record<string, string> {
  const [port, saslPort, controllerPort, tlsPort] = ports;
  const ssl = pem === undefined ? '' : `,SSL://127.0.0.1:${tlsPort}`;
  const listeners = `PLAINTEXT://127.0.0.1:${port},SASL_PLAINTEXT://127.0.0.1:${saslPort}${ssl}`;
  return {
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    listeners: `${listeners},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': listeners,
    ...(pem !== undefined && { 'ssl.keystore.type': 'PEM', 'ssl.keystore.location': pem }),
  };
}

const usual = {
  'process.roles': 'broker,controller',
  'node.id': 1,
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL',
  'sasl.enabled.mechanisms': 'SCRAM-SHA-512,PLAIN',
  'listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config':
    'org.apache.kafka.common.security.scram.ScramLoginModule required;',
  'listener.name.sasl_plaintext.plain.sasl.jaas.config':
    'org.apache.kafka.common.security.plain.PlainLoginModule required ' +
    `user_${kafkaUser.saslUserName}="${kafkaUser.password}";`,
  'offsets.topic.replication.factor': 1,
  'offsets.topic.num.partitions': 1,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.num.partitions': 1,
  'transaction.state.log.min.isr': 1,
  'group.initial.rebalance.delay.ms': 0,
  'num.network.threads': 2,
  'num.io.threads': 2,
};

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
