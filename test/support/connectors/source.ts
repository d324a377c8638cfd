/** A source at work without an engine: what it writes is kept. */
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../host/base/files/allowed-paths.js';
import { silent } from '../../../host/base/log/log.js';
import type { Source, SourceContext } from '../../../host/connectors/running.js';

export interface OpenedSource<S extends Source> {
  readonly source: S;
  /** What was written so far, one after the other. */
  readonly written: Buffer[];
  isEnded: boolean;
  readonly warnings: string[];
  /** Reasons of failures that may happen. */
  readonly failures: string[];
}

/** Opens a source; `look` is called after each piece that it writes. */
export async function openSource<S extends Source>(
  make: (context: SourceContext) => S,
  given: {
    from?: unknown;
    isCommitted?: boolean;
    mayFail?: boolean;
    /** Takes the reasons of failures. */
    failed?: (reason: string) => void;
    /** Opens it again, as the engine does; without it a source must not be away. */
    disconnected?: (reason: string) => void;
    look?: (opened: OpenedSource<S>) => void;
  } = {},
): Promise<OpenedSource<S>> {
  const opened: Omit<OpenedSource<S>, 'source'> & { source?: S } = {
    written: [],
    isEnded: false,
    warnings: [],
    failures: [],
  };
  const context = {
    dataSource: '',
    paths: AllowedPaths.any(),
    log: { ...silent, warn: (text: string) => void opened.warnings.push(text) },
    isCommitted: given.isCommitted === true,
    write: (bytes: Uint8Array) => {
      opened.written.push(Buffer.from(bytes));
      given.look?.(opened as OpenedSource<S>);
      return true;
    },
    ready: () => Promise.resolve(),
    shared: <T>(_key: string, make: () => T) => make(),
    resetInput: () => {},
    exception: (reason: string) => {
      if (given.failed !== undefined) return given.failed(reason);
      assert.ok(given.mayFail, reason);
      opened.failures.push(reason);
    },
    sendError: () => {},
    disconnected: given.disconnected ?? ((reason: string) => assert.unreachable(reason)),
    end: () => {
      opened.isEnded = true;
    },
  } as unknown as SourceContext;
  const source = make(context);
  opened.source = source;
  if (given.from !== undefined) source.seek?.(JSON.parse(JSON.stringify(given.from)));
  await source.open();
  return opened as OpenedSource<S>;
}
