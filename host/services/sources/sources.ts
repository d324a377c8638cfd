/** Streams and tables: what a client may do with them. */
import { asKind, HaumeaError, inContext } from '../../base/errors.js';
import { maskText } from '../../base/fields/secret-fields.js';
import type { Logger } from '../../base/log/log.js';
import { schemaTypeOf } from '../../codecs/index.js';
import { SourceRepository, type StoredSource } from '../../meta/definitions/sources.js';
import { checkId } from '../../meta/ids.js';
import type { SourceWarnings } from '../../model/engine.js';
import type { DescribedSource, SchemaEntry } from '../../sql/describe.js';
import { parseStatement } from '../../sql/parser.js';
import type { OptionName, StreamDefinition } from '../../sql/source-def.js';
import { Outcome } from '../body/outcome.js';
import { sourceErrors } from '../errors/sources.js';

type Target = 'stream' | 'table';

export interface SourceDetail {
  readonly name: string;
  readonly type: string;
  readonly format: string;
}

/** Columns of a protobuf message by the value of SCHEMAID; throws a `stream` error when it is not there. */
type MessageColumns = (schemaType: string, schemaId: string) => Promise<Record<string, SchemaEntry>>;

/** Queries about the running rules. */
export interface StreamUsers {
  /** Names of the rules that hold a stream. */
  of(stream: string): readonly string[];
  /** Fields of the stream's messages that a rule reads; undefined when it takes whole messages. */
  fieldsRead(rule: string, stream: string): readonly string[] | undefined;
  /** Warnings about what no rule could use of a definition, one sentence each; `given`: options of its statement. */
  warningsOf(definition: StreamDefinition, given: ReadonlySet<OptionName>): SourceWarnings;
}

/** Rules that are looked at before other work of the thread gets its turn. */
const usersSlice = 50;

/** Loaded on demand: few servers describe a stream. */
const describing = () => import('../../sql/describe.js');
const masking = () => import('../secrets/statement.js');

export class SourceService {
  readonly #sources: SourceRepository;
  readonly #users: StreamUsers;
  readonly #messageColumns: MessageColumns;
  readonly #log: Logger;

  constructor(sources: SourceRepository, users: StreamUsers, messageColumns: MessageColumns, log: Logger) {
    this.#sources = sources;
    this.#users = users;
    this.#messageColumns = messageColumns;
    this.#log = log;
  }

  /** Runs any statement about streams and tables; returns the text of its answer. */
  execute(endpoint: Target, sql: string): Promise<string | Outcome> {
    return inContext(`${title(endpoint)} command error`, async () => {
      const statement = parsed(sql);
      switch (statement.kind) {
        case 'create':
          return this.#create(SourceRepository.read(sql));
        case 'show': {
          const target = statement.target === 'streams' ? 'stream' : 'table';
          const names = this.#sources.names(target);
          return names.length === 0 ? `No ${target} definitions are found.` : names.join('\n');
        }
        case 'describe': {
          const { create } = this.#get(statement.target, statement.name);
          return (await describing()).describeText((await masking()).maskCreate(create));
        }
        case 'drop':
          // A statement about what is not there is a mistake in the statement, not an unknown path.
          if (!this.#sources.names(statement.target).includes(statement.name)) {
            throw sourceErrors.dropMissing(statement.target, statement.name);
          }
          return this.#drop(statement.target, statement.name, false);
        case 'explain':
          this.#get(statement.target, statement.name);
          return 'TO BE SUPPORTED';
        default:
          throw sourceErrors.otherStatement();
      }
    });
  }

  names(target: Target, kind?: string): string[] {
    return this.#sources.names(target, tableKind(kind));
  }

  details(target: Target, kind?: string): SourceDetail[] {
    return this.#sources.names(target, tableKind(kind)).flatMap((name) => {
      try {
        const { options } = this.#get(target, name).definition;
        return [{ name, type: options.type, format: options.format }];
      } catch {
        // One record that can't be read must not hide the others; describing it names the reason.
        return [];
      }
    });
  }

  describe(target: Target, name: string): Promise<DescribedSource> {
    return inContext(`describe ${target} error`, async () => {
      const { create } = this.#get(target, name);
      return (await describing()).describeSource((await masking()).maskCreate(create));
    });
  }

  /**
   * Declared columns; those of the message where a schema says what the messages hold. Of a stream that declares none
   * the fields that running rules read, whose types nobody knows, as long as no rule takes whole messages.
   */
  schema(target: Target, name: string): Promise<Record<string, SchemaEntry | null> | null> {
    return inContext(`get schema of ${target} error`, async () => {
      const { fields, options } = this.#get(target, name).definition;
      const type = schemaTypeOf(options.format);
      if (type !== undefined && options.schemaId !== null) return this.#messageColumns(type, options.schemaId);
      return (await describing()).describeSchema(fields) ?? this.#fieldsInUse(name);
    });
  }

  async #fieldsInUse(stream: string): Promise<Record<string, null> | null> {
    const names = new Set<string>();
    for (const [i, rule] of this.#users.of(stream).entries()) {
      if (i % usersSlice === usersSlice - 1) await new Promise((resolve) => setImmediate(resolve));
      const fields = this.#fieldsRead(rule, stream);
      if (fields === undefined) return null;
      for (const field of fields) names.add(field);
    }
    return names.size === 0 ? null : Object.fromEntries([...names].sort().map((field) => [field, null]));
  }

  /**
   * Fields that a rule reads, as `StreamUsers.fieldsRead` tells. A rule whose definition has become invalid counts as
   * reading none, so that it does not hide the others.
   */
  #fieldsRead(rule: string, stream: string): readonly string[] | undefined {
    try {
      return this.#users.fieldsRead(rule, stream);
    } catch (error) {
      if (error instanceof HaumeaError) return [];
      throw error;
    }
  }

  /** Replaces the definition of the name, or creates it. */
  replace(target: Target, name: string, sql: string): Promise<string | Outcome> {
    return inContext(`${title(target)} command error`, async () => {
      const statement = parsed(sql);
      if (statement.kind !== 'create' || statement.name !== name || statement.target !== target) {
        throw sourceErrors.replacesOther(name, target);
      }
      const old = sql.includes(maskText) ? this.#sources.get(name) : undefined;
      const whole = old === undefined ? sql : (await masking()).unmaskStatement(sql, statement, old.create);
      const next = SourceRepository.read(whole);
      this.#sources.checkReplaces(next);
      await this.#sources.put(next);
      return this.#warned(`${title(target)} ${name} is updated.`, next);
    });
  }

  /** Drops a definition; one that a running rule holds only by force. */
  drop(target: Target, name: string, isForced: boolean): Promise<string> {
    return inContext(`delete ${target} error`, () => this.#drop(target, name, isForced));
  }

  async #create(source: StoredSource): Promise<string | Outcome> {
    const { name, kind } = source.definition;
    checkId(name);
    if (this.#sources.has(name)) throw sourceErrors.exists(kind, name);
    await this.#sources.put(source);
    return this.#warned(`${title(kind)} ${name} is created.`, source);
  }

  /** Definitions are kept whatever rules can do with them: what they need may come later. */
  #warned(text: string, { create, definition }: StoredSource): Outcome {
    // Names that are no options were refused.
    const given = new Set(Object.keys(create.options)) as Set<OptionName>;
    const { warnings, notes } = this.#users.warningsOf(definition, given);
    for (const line of [...warnings, ...notes]) this.#log.warn(`${definition.kind} ${definition.name}: ${line}`);
    return new Outcome(text, warnings, notes);
  }

  async #drop(target: Target, name: string, isForced: boolean): Promise<string> {
    if (!this.#sources.names(target).includes(name)) {
      throw sourceErrors.dropNotFound(target, name);
    }
    const users = isForced ? [] : this.#users.of(name);
    if (users.length > 0) {
      throw sourceErrors.inUse(target, name, users.join(', '));
    }
    await this.#sources.delete(name);
    return `${title(target)} ${name} is dropped.`;
  }

  #get(target: Target, name: string): StoredSource {
    const source = this.#sources.get(name);
    if (source === undefined || source.definition.kind !== target) {
      throw sourceErrors.missing(target, name);
    }
    return source;
  }
}

function parsed(sql: string): ReturnType<typeof parseStatement> {
  if (sql === '') throw sourceErrors.noStatement();
  try {
    return parseStatement(sql);
  } catch (error) {
    if (error instanceof HaumeaError) throw asKind('stream', error);
    throw error;
  }
}

function tableKind(kind: string | undefined): 'scan' | 'lookup' | undefined {
  return kind === 'scan' || kind === 'lookup' ? kind : undefined;
}

function title(target: Target): string {
  return target === 'stream' ? 'Stream' : 'Table';
}
