/** Named connections: definitions, who uses them, and whether the other side answers. */
import { isDeepStrictEqual } from 'node:util';
import { HaumeaError, inContext, reasonOf } from '../../base/errors.js';
import { parse, unknownIn } from '../../base/fields/field.js';
import { nothingSecret, redactedError } from '../../base/secrets/redact.js';
import { unmask } from '../../base/secrets/unmask.js';
import { Serial } from '../../base/structures/serial.js';
import type { ConnectionPart, Connector } from '../../connectors/define.js';
import { connectionTypes } from '../../connectors/index.js';
import type { RecordRepository, RecordShape } from '../../meta/definitions/records.js';
import { checkId } from '../../meta/ids.js';
import { nothingToUndo } from '../../meta/store.js';
import type { Access, ConnectionUse } from '../../model/engine.js';
import { allSinkProps } from '../../run/planning/warnings.js';
import { checkFiles, withFiles } from '../../run/props/access.js';
import { joinLayers, type Layer } from '../../run/props/layers.js';
import { missingSecret, type ResolvedProps, resolveProps } from '../../run/props/secret-props.js';
import { checkSameName, textOf } from '../body/fields.js';
import { Outcome } from '../body/outcome.js';
import { bodyErrors } from '../errors/body.js';
import { sourceErrors } from '../errors/sources.js';
import { maskProps } from '../secrets/props.js';

export interface ConnectionRecord {
  readonly typ: string;
  readonly props: Readonly<Record<string, unknown>>;
}

export const connectionShape: RecordShape<ConnectionRecord> = { typ: 'text', props: 'object' };

export interface DescribedConnection {
  readonly id: string;
  readonly typ: string;
  readonly props: Record<string, unknown>;
  readonly isNamed: boolean;
  readonly status: 'connecting' | 'connected' | 'disconnected';
  readonly err?: string;
  readonly refCount?: number;
}

/** Result of the last test of a connection. */
interface Probe {
  /** Definition that was tested; a changed definition makes the result void. */
  readonly record: ConnectionRecord;
  readonly result: Promise<void>;
  state: Pick<DescribedConnection, 'status' | 'err'>;
  /** Time at which the test ended, ms; undefined while the test runs. */
  doneAt: number | undefined;
}

/** Greatest age of a state that is shown, ms. */
const freshMs = 5000;
/** An answer waits so long for a state that is not known yet. */
const probeWaitMs = 800;

export interface ConnectionServiceOptions {
  readonly connections: RecordRepository<ConnectionRecord>;
  /** Declarations of all connectors. */
  readonly connectors: readonly Connector[];
  /** Secrets and files that properties may refer to. */
  readonly access: Access;
  /** Connections that the running rules use. */
  readonly uses: () => readonly ConnectionUse[];
  /** To be called when a connection has other credentials. */
  readonly renewed: (id: string) => void;
}

export class ConnectionService {
  readonly #connections: ConnectionServiceOptions['connections'];
  readonly #connectors: ConnectionServiceOptions['connectors'];
  readonly #access: Access;
  readonly #uses: ConnectionServiceOptions['uses'];
  readonly #renewed: ConnectionServiceOptions['renewed'];
  readonly #probes = new Map<string, Probe>();
  readonly #serial = new Serial();

  constructor({ connections, connectors, access, uses, renewed }: ConnectionServiceOptions) {
    this.#connections = connections;
    this.#connectors = connectors;
    this.#access = access;
    this.#uses = uses;
    this.#renewed = renewed;
  }

  create(body: Record<string, unknown>): Promise<string | Outcome> {
    return inContext('create connection error', async () => {
      const id = textOf(body, 'id');
      checkId(id);
      const record = await this.#read(body, undefined);
      await this.#serial.run(id, async () => {
        if (this.#connections.has(id)) throw sourceErrors.connectionExists(id);
        await this.#connections.put(id, record, nothingToUndo);
      });
      void this.#probe(id, record);
      return this.#warned(record);
    });
  }

  replace(id: string, body: Record<string, unknown>): Promise<string | Outcome> {
    return inContext('update connection error', async () => {
      checkSameName(textOf(body, 'id'), id, 'id');
      const record = await this.#serial.run(id, async () => {
        const old = this.#get(id);
        const next = await this.#read(body, old);
        const isRenewal = this.#isRenewal(old, next);
        if (!isRenewal) this.#checkUnused(id, 'changed');
        await this.#connections.put(id, next, nothingToUndo);
        if (isRenewal) this.#renewed(id);
        void this.#probe(id, next);
        return next;
      });
      return this.#warned(record);
    });
  }

  /** Deletes a connection; an unknown one is gone already. */
  delete(id: string): Promise<string> {
    return inContext('delete connection error', () =>
      this.#serial.run(id, async () => {
        if (!this.#connections.has(id)) return 'success';
        this.#checkUnused(id, 'dropped');
        await this.#connections.delete(id, nothingToUndo);
        this.#probes.delete(id);
        return 'success';
      }),
    );
  }

  describe(id: string): Promise<DescribedConnection> {
    return inContext('get connection error', () => this.#describe(id, this.#get(id), this.#uses()));
  }

  /** Named connections; with `all` also those that running rules have made for themselves. */
  list(all: boolean): Promise<DescribedConnection[]> {
    return inContext('list connections error', async () => {
      const uses = this.#uses();
      const named = this.#connections.list().map(([id, record]) => this.#describe(id, record, uses));
      const unnamed = all ? uses.filter(({ selector }) => selector === undefined) : [];
      const own = unnamed.map((use) => this.#describeUse(use));
      return Promise.all([...named, ...own]);
    });
  }

  /** Checks whether the other side of a source, of lookups or not, or of a sink can be reached with the properties. */
  check(part: 'source' | 'sink', type: string, properties: Record<string, unknown>): Promise<undefined> {
    return inContext(`check ${part} connection error`, async () => {
      const connector = this.#connector(type);
      const plays = connector?.[part] ?? (part === 'source' ? connector?.lookup?.asked : undefined);
      const isKnown = plays !== undefined || isType(type);
      if (!isKnown) throw sourceErrors.noPart(part, type);
      const connection = connector?.connection;
      if (connection?.ping === undefined || plays === undefined) {
        throw sourceErrors.noPing(part, type);
      }
      const id = textOf(properties, 'connectionSelector');
      const where = `${part} ${type}`;
      const given: Layer[] = [{ props: properties, name: 'the request', by: 'user' }];
      if (id !== '') given.push({ props: this.#get(id).props, name: `connection ${id}`, by: 'connection' });
      const { value, redact } = this.#resolve(connection, joinLayers(connection.props, given, where), where);
      await connection.ping(value).catch((error: unknown) => {
        throw asConnectionError(redactedError(error, redact));
      });
      return undefined;
    });
  }

  /** The answer to a change: properties are those of any stream or action, those that none of them knows are named. */
  async #warned({ typ, props }: ConnectionRecord): Promise<string | Outcome> {
    const connector = this.#connector(typ);
    if (connector === undefined) return 'success';
    const { connection, source, lookup, sink } = connector;
    const known = {
      ...connection?.props,
      ...source?.props,
      ...lookup?.asked?.props,
      ...allSinkProps(sink?.props ?? {}),
    };
    return new Outcome(
      'success',
      unknownIn(known, props).map((text) => `the property ${text}`),
    );
  }

  async #describe(id: string, record: ConnectionRecord, uses: readonly ConnectionUse[]): Promise<DescribedConnection> {
    const refCount = uses.filter(({ selector }) => selector === id).length;
    return {
      id,
      typ: record.typ,
      props: maskProps('connections', record.typ, record.props),
      isNamed: true,
      ...(await this.#stateOf(id, record)),
      ...(refCount === 0 ? {} : { refCount }),
    };
  }

  async #describeUse(use: ConnectionUse): Promise<DescribedConnection> {
    const connector = this.#connector(use.typ);
    const props = Object.fromEntries(
      Object.entries(use.props).filter(([name]) => connector?.connection?.props[name] !== undefined),
    );
    const { status, reason } = await use.state();
    return {
      id: use.id,
      typ: use.typ,
      props: maskProps('connections', use.typ, props),
      isNamed: false,
      status,
      ...(status === 'disconnected' && reason !== '' ? { err: reason } : {}),
      refCount: 1,
    };
  }

  /** The state now, or the last one known when the other side is slow to answer. */
  async #stateOf(id: string, record: ConnectionRecord): Promise<Probe['state']> {
    const last = this.#probes.get(id);
    const isSame = last !== undefined && JSON.stringify(last.record) === JSON.stringify(record);
    const isFresh = last?.doneAt === undefined || performance.now() - last.doneAt < freshMs;
    const probe = isSame && isFresh ? last : this.#probe(id, record, isSame ? last?.state : undefined);
    if (probe.doneAt === undefined) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, probeWaitMs);
      });
      await Promise.race([probe.result, late]);
      clearTimeout(timer);
    }
    return probe.state;
  }

  #probe(id: string, record: ConnectionRecord, known?: Probe['state']): Probe {
    const done = (state: Probe['state']) => {
      probe.state = state;
      probe.doneAt = performance.now();
    };
    const probe: Probe = {
      record,
      result: this.#ping(record).then(
        () => done({ status: 'connected' }),
        (error: unknown) => done({ status: 'disconnected', err: reasonOf(error) }),
      ),
      state: known ?? { status: 'connecting' },
      doneAt: undefined,
    };
    this.#probes.set(id, probe);
    return probe;
  }

  async #ping({ typ, props }: ConnectionRecord): Promise<void> {
    const connector = this.#connector(typ);
    if (connector?.connection === undefined) {
      throw sourceErrors.connectionNotOpened(typ);
    }
    // The other side comes to us.
    const { connection } = connector;
    if (connection.ping === undefined) return;
    const { value, redact } = this.#resolve(connection, props, `connection of type ${typ}`);
    await connection.ping(value).catch((error: unknown) => {
      throw redactedError(error, redact);
    });
  }

  /** The properties as the connector gets them. */
  #resolve(connection: ConnectionPart, props: Readonly<Record<string, unknown>>, where: string): ResolvedProps {
    const missing = missingSecret(props, connection.props);
    if (missing !== undefined) throw sourceErrors.connectionProps(where, missing);
    const resolved = resolveProps(props, where, connection.props, this.#access.secrets);
    const { value } = resolved;
    return { ...resolved, value: withFiles(value, connection.files?.(value), this.#access, where) };
  }

  #connector(type: string): Connector | undefined {
    const wanted = type.toLowerCase();
    return this.#connectors.find(({ name }) => name.toLowerCase() === wanted);
  }

  async #read(body: Record<string, unknown>, old: ConnectionRecord | undefined): Promise<ConnectionRecord> {
    const typ = textOf(body, 'typ');
    if (typ === '') throw bodyErrors.missing('typ');
    const connector = this.#connector(typ);
    if (!isType(typ)) {
      throw sourceErrors.connectionType(typ, connectionTypes().join(', '));
    }
    const given = body.props ?? {};
    if (typeof given !== 'object' || given === null || Array.isArray(given)) {
      throw bodyErrors.notObject('props');
    }
    const props = unmask(given as Record<string, unknown>, old?.props);
    if (connector !== undefined) this.#checkProps(connector, props);
    return { typ, props };
  }

  #checkProps(connector: Connector, props: Record<string, unknown>): void {
    const { connection } = connector;
    if (connection === undefined) return;
    const where = `${connector.name} connection`;
    let redact = nothingSecret;
    try {
      // A secret that is missing so far shows in the state of the connection.
      const resolved = resolveProps(props, where, connection.props, this.#access.secrets, true);
      redact = resolved.redact;
      parse(connection.props, resolved.value, { where });
      checkFiles(connection.files?.(resolved.value), this.#access, where);
    } catch (error) {
      throw sourceErrors.pingFails(redact(reasonOf(error)), { cause: error });
    }
  }

  #get(id: string): ConnectionRecord {
    const record = this.#connections.get(id);
    if (record === undefined) throw sourceErrors.connectionMissing(id);
    return record;
  }

  /** Whether nothing but credentials differs, which running rules take from their next attempt to connect on. */
  #isRenewal(old: ConnectionRecord, next: ConnectionRecord): boolean {
    const connection = this.#connector(next.typ)?.connection;
    if (connection === undefined || old.typ.toLowerCase() !== next.typ.toLowerCase()) return false;
    if (isDeepStrictEqual(old.props, next.props)) return false;
    const others = (props: ConnectionRecord['props']) =>
      Object.fromEntries(
        Object.entries(props).filter(([name]) => unknownIn(connection.props, { [name]: '' }).length > 0),
      );
    if (!isDeepStrictEqual(others(old.props), others(next.props))) return false;
    try {
      return connection.isRenewal(old.props, next.props);
    } catch {
      // A reference stands for something else than a text.
      return false;
    }
  }

  #checkUnused(id: string, change: 'changed' | 'dropped'): void {
    const users = this.#uses().filter(({ selector }) => selector === id);
    if (users.length === 0) return;
    const rules = [...new Set(users.map(({ rule }) => rule))].join(', ');
    throw sourceErrors.connectionInUse(id, change, rules);
  }
}

/** Whether there are connections of the type; letter case does not matter. */
function isType(type: string): boolean {
  return connectionTypes().some((name) => name.toLowerCase() === type.toLowerCase());
}

/** Errors of the properties stay errors of the request; all others become errors of the connection. */
function asConnectionError(error: unknown): HaumeaError {
  if (error instanceof HaumeaError && error.kind !== 'connection') return error;
  return sourceErrors.connectionFails(reasonOf(error), { cause: error });
}
