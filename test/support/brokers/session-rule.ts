/** A server with a rule that reads an MQTT session and writes each message to a file, exactly once. */
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../harness.js';
import { publishAll } from './mosquitto.js';
import { idsIn } from './plant.js';

/** What the rule listens to. */
export interface Session {
  readonly url: string;
  readonly qos: 1 | 2;
  readonly clientid: string;
  readonly checkpointInterval: string;
  readonly topic?: string;
  /** Codec that reads and writes the messages, instead of JSON. */
  readonly codec?: string;
}

const usualTopic = 't';

export class SessionRule {
  readonly #path: string;

  private constructor(
    public server: TestServer,
    private readonly env: Record<string, string>,
  ) {
    this.#path = join(server.data, 'out');
  }

  static async start(env: Record<string, string> = {}): Promise<SessionRule> {
    return new SessionRule(await startServer({ data: temporaryFolder(), env }), env);
  }

  /** Makes the rule; the session is there when it resolves. */
  async listen({ url, qos, clientid, checkpointInterval, topic = usualTopic, codec }: Session): Promise<void> {
    const format = codec === undefined ? '' : `, FORMAT="custom", SCHEMAID="${codec}"`;
    const conf = { server: url, qos, clientid, enableClientSession: true };
    await this.server.request('PUT', '/metadata/sources/mqtt/confKeys/in', conf);
    await this.#made('/streams', {
      sql: `CREATE STREAM s () WITH (TYPE="mqtt", DATASOURCE="${topic}", CONF_KEY="in"${format})`,
    });
    await this.#made('/rules', {
      id: 'r',
      sql: 'SELECT id FROM s',
      actions: [{ file: { path: this.#path, sendSingle: true, ...(codec && { format: 'custom', schemaId: codec }) } }],
      options: { qos: 2, checkpointInterval },
    });
    await this.connected();
  }

  async #made(path: string, body: object): Promise<void> {
    const { status, text } = await this.server.request('POST', path, body);
    assert.is(status, 201, text);
  }

  // biome-ignore lint/suspicious/noExplicitAny: figures of all kinds
  async status(): Promise<any> {
    return (await this.server.request('GET', '/rules/r/status')).json;
  }

  connected(is = true): Promise<unknown> {
    return eventually(is ? 'the connection' : 'the end of the connection', async () => {
      const { source_s_0_connection_status: status } = await this.status();
      return (status === 1) === is;
    });
  }

  /** Ids of the rows that came out, in order. */
  ids(): number[] {
    return idsIn(this.#path);
  }

  /** Ends the server hard and starts it again. */
  async kill(): Promise<void> {
    const { data } = this.server;
    await this.server.stop('SIGKILL');
    this.server = await startServer({ data, env: this.env });
  }

  async close(): Promise<void> {
    this.server.child.kill('SIGCONT');
    await this.server.stop('SIGKILL');
  }
}

/** Sends messages with growing ids to the rule. */
export class NumberedMessages {
  sent = 0;

  constructor(
    private readonly rule: SessionRule,
    public client: MqttClient,
  ) {}

  async send(count: number, qos: 1 | 2): Promise<void> {
    const messages = Array.from({ length: count }, (_, i) => `{"id":${this.sent + i}}`);
    this.sent += count;
    await publishAll(this.client, usualTopic, messages, qos);
  }

  /** Checks that all that were sent are rows of the file, each once and in order. */
  async checkRows(ms: number): Promise<void> {
    // What is wrong in the end is told by the rows.
    await eventually('all rows', () => new Set(this.rule.ids()).size === this.sent, ms).catch(() => {});
    assert.equal(
      this.rule.ids(),
      Array.from({ length: this.sent }, (_, id) => id),
    );
  }
}
