/** The form of a REST resource: a table of routes with thin handlers, each with its contract. */
import type { ServerResponse } from 'node:http';
import { beyondBounds } from '../../base/text/json-bounds.js';
import { textFromUtf8 } from '../../base/text/utf8.js';
import { checkId } from '../../meta/ids.js';
import type { Form } from '../../services/body/form.js';
import { bodyErrors } from '../../services/errors/body.js';
import { requestErrors } from '../errors.js';
import type { Contract, Schema } from './contract.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A route of REST; `S` has the services that the handler calls. */
export interface Route<S> {
  readonly method: Method;
  /** Path with `:name` parameters. */
  readonly path: string;
  /** One sentence for the reference. */
  readonly doc: string;
  /** Contract of the request and the answer, for the OpenAPI document. */
  readonly contract: Contract;
  /** Status of a success, 200 when not given. */
  readonly status?: number;
  /**
   * `none`: goes on while an import replaces definitions. Reading always does, changes wait for the import otherwise.
   */
  readonly gate?: 'none';
  /**
   * Changes something although its method is GET: HEAD is refused, and so are requests that any web page may have made.
   */
  readonly isOrder?: boolean;
  /** Whether a request only reads, although its method is not GET: tokens that may only read are good for it. */
  readonly reads?: (request: RestRequest) => boolean;
  /** Returns the answer: a text goes as plain text, nothing as an empty body, everything else as JSON. */
  readonly handle: (request: RestRequest, services: S) => unknown;
}

type Schemas = Readonly<Record<string, Schema>>;

export interface Resource<S> {
  readonly routes: readonly Route<S>[];
  /**
   * Schemas that contracts refer to by name, those of other resources as well. Nothing but the OpenAPI document needs
   * them: those of some size are loaded with it, so that no start reads them.
   */
  readonly schemas?: Schemas | (() => Promise<Schemas>);
}

/** Declares a resource; only there to have its routes checked. */
export function defineResource<S>(resource: Resource<S>): Resource<S> {
  return resource;
}

/** Routes in the order in which they are tried: at the first part that differs a name goes before a parameter. */
export function inOrder<S>(routes: readonly Route<S>[]): readonly Route<S>[] {
  const rank = ({ path }: Route<S>) => path.replace(/[^/]+/g, (part) => (part.startsWith(':') ? '1' : '0'));
  return routes.toSorted((one, other) => (rank(one) < rank(other) ? -1 : rank(one) > rank(other) ? 1 : 0));
}

/** An answer with a status or a content type of its own. */
export class Reply {
  constructor(
    readonly body: unknown,
    /** HTTP status; undefined means the status of the route. */
    readonly status?: number,
    readonly type?: string,
    readonly headers?: Readonly<Record<string, string>>,
  ) {}
}

/** Parameters of a query by name; of several with one name the first. */
export function queryOf(params: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...params].reverse());
}

/** A request as handlers see it. */
export class RestRequest {
  constructor(
    readonly params: Readonly<Record<string, string>>,
    readonly query: Readonly<Record<string, string | undefined>>,
    readonly body: Buffer,
    readonly contentType = '',
    /** Response that takes the answer; a part of a batch has none of its own. */
    private readonly response?: ServerResponse,
    /** False for a token that may only read. */
    readonly mayChange = true,
  ) {}

  /** Signal that is set when the client goes away before the answer. */
  get signal(): AbortSignal | undefined {
    const { response } = this;
    if (response === undefined) return undefined;
    const gone = new AbortController();
    if (response.destroyed || response.closed) gone.abort();
    else response.once('close', () => gone.abort());
    return gone.signal;
  }

  /** Answers with a stream that goes on, which `open` begins. */
  stream(open: (response: ServerResponse) => void): void {
    if (this.response === undefined) throw requestErrors.noStream();
    open(this.response);
  }

  /** Tells whether a switch of the query is on; anything but the usual forms of true is off. */
  flag(name: string): boolean {
    return ['1', 't', 'true'].includes((this.query[name] ?? '').toLowerCase());
  }

  /**
   * A switch whose typo would change what was not to be changed: anything but the usual forms of true and false is
   * refused.
   */
  strictFlag(name: string): boolean {
    const value = this.query[name];
    const isKnown = value === undefined || ['0', 'f', 'false'].includes(value.toLowerCase()) || this.flag(name);
    if (!isKnown) throw requestErrors.notBoolean(name, JSON.stringify(value));
    return this.flag(name);
  }

  /** A whole number from 1 on in the query; undefined where it is not given. */
  count(name: string): number | undefined {
    const value = this.query[name];
    if (value === undefined) return undefined;
    if (!/^[1-9]\d{0,8}$/.test(value)) throw requestErrors.notCount(name, JSON.stringify(value));
    return Number(value);
  }

  /** Tells whether the body is a multipart form. */
  get isForm(): boolean {
    return /^multipart\/form-data\b/i.test(this.contentType);
  }

  /** Reads the body as a multipart form. */
  async form(): Promise<Form> {
    if (!this.isForm) throw requestErrors.noMultipart();
    const { readForm } = await import('./form.js');
    return readForm(this.body, this.contentType);
  }

  /** Returns a path parameter that is an id; throws unless it has the form of one. */
  id(name = 'id'): string {
    const id = this.params[name] ?? '';
    checkId(id);
    return id;
  }

  /** Reads the body as JSON whatever its content type. */
  json(): unknown {
    if (this.body.length === 0) throw requestErrors.empty();
    const fault = beyondBounds(this.body);
    if (fault !== undefined) throw requestErrors.beyondBounds(fault);
    const text = textFromUtf8(this.body, 'invalid body: it');
    try {
      return JSON.parse(text);
    } catch (error) {
      const reason = error instanceof Error ? error.message : '';
      throw requestErrors.notJson(reason, { cause: error });
    }
  }

  /** Reads the body as a JSON object. */
  object(): Record<string, unknown> {
    const value = this.json();
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw requestErrors.notObject();
    }
    return value as Record<string, unknown>;
  }

  /** Returns a text member of the body object; empty when it is missing. */
  text(name: string): string {
    const value = this.object()[name];
    if (value === undefined || value === null) return '';
    if (typeof value !== 'string') {
      throw bodyErrors.notText(name, JSON.stringify(value).slice(0, 60));
    }
    return value;
  }
}
