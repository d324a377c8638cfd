/** Finds messages in the schemas of type protobuf, which may import each other. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import type { Root, Type } from 'protobufjs';
import { reasonOf } from '../../base/errors.js';
import type { MessageTypes } from '../../model/message-types.js';
import type { SchemaEntry } from '../../sql/describe.js';
import { schemaErrors } from '../errors/schemas.js';
import { messageTypesOf } from './message-types.js';
import { findMessage, readSchema } from './proto-files.js';
import { protobufColumns } from './protobuf-columns.js';

/** A stored schema. */
export interface ProtobufFile {
  readonly content: string;
  /** Path of its file; the files that it brings are in a folder beside it. */
  readonly file: string;
  readonly soFile: string;
}

export interface ProtobufStore {
  get(name: string): ProtobufFile | undefined;
  /** Changes with each change of a schema. */
  version(): number;
}

export class ProtobufSchemas {
  #version = -1;
  readonly #roots = new Map<string, Root>();
  readonly #types = new Map<string, MessageTypes>();

  constructor(private readonly store: ProtobufStore) {}

  /** Types of the message that SCHEMAID names: `schema.Message`. Throws a `stream` error when there is none. */
  types(schemaId: string): MessageTypes {
    this.#renew();
    const known = this.#types.get(schemaId);
    if (known !== undefined) return known;
    const [name] = split(schemaId);
    // Its own code reads and writes messages of such a schema.
    if (this.store.get(name)?.soFile) throw schemaErrors.nativeMessages(name);
    const found = messageTypesOf(this.#message(schemaId));
    this.#types.set(schemaId, found);
    return found;
  }

  /** Columns of such a message. */
  columns(schemaId: string): Record<string, SchemaEntry> {
    this.#renew();
    return protobufColumns(this.#message(schemaId));
  }

  /** Why no message of the schema can be read; undefined when its text is right, or its own code reads them. */
  faultOf(name: string): string | undefined {
    this.#renew();
    const schema = this.store.get(name);
    if (schema === undefined || schema.soFile !== '') return undefined;
    try {
      this.#root(name, schema);
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  #renew(): void {
    const version = this.store.version();
    if (version === this.#version) return;
    this.#version = version;
    this.#roots.clear();
    this.#types.clear();
  }

  #message(schemaId: string): Type {
    const [name, message] = split(schemaId);
    const schema = this.store.get(name);
    if (schema === undefined) throw schemaErrors.missing(name);
    if (message === '') throw schemaErrors.messageUnnamed(name);
    const found = findMessage(this.#root(name, schema), message);
    if (found === undefined) throw schemaErrors.noMessage(message, name);
    return found;
  }

  #root(name: string, { content, file }: ProtobufFile): Root {
    const known = this.#roots.get(name);
    if (known !== undefined) return known;
    try {
      const root = readSchema({ content, imported: (path) => this.#imported(path, dirname(file)) });
      this.#roots.set(name, root);
      return root;
    } catch (error) {
      throw schemaErrors.unreadable(name, reasonOf(error), { cause: error });
    }
  }

  /** Text of a file that the schema brings in its folder, or of another schema and what that brings. */
  #imported(wanted: string, folder: string): string | undefined {
    const path = resolve(folder, wanted);
    if (!path.startsWith(folder + sep)) throw new Error(`the import ${wanted} lies outside of the schema`);
    if (existsSync(path)) return readFileSync(path, 'utf8');
    const [other = ''] = wanted.split('/');
    const schema = this.store.get(other.replace(/\.proto$/, ''));
    if (schema === undefined) return undefined;
    const beside = resolve(dirname(schema.file), wanted);
    return existsSync(beside) ? readFileSync(beside, 'utf8') : undefined;
  }
}

function split(schemaId: string): [schema: string, message: string] {
  const at = schemaId.indexOf('.');
  return at < 0 ? [schemaId, ''] : [schemaId.slice(0, at), schemaId.slice(at + 1)];
}
