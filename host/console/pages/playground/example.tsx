/** What a link may bring into the playground: a statement, rows, options of a rule, and the streams that it reads. */
import { useEffect, useState } from 'preact/hooks';
import type { Row } from '../../../sdk/client.js';
import { Changing } from '../../parts/changing.js';
import { t } from '../../state/language.js';
import { ask, reasonOf } from '../../state/server.js';

/** Rows as text, for a stream: without a name the first one of the statement. */
export interface Given {
  readonly stream: string;
  readonly text: string;
}

export interface Example {
  readonly sql: string | undefined;
  readonly given: readonly Given[];
  readonly options: Row | undefined;
  /** Statements that create what the statement reads. */
  readonly streams: readonly string[];
}

/** Reads `sql`, `rows` and `options` as JSON by stream, and `streams`, a list; what is no JSON counts as left out. */
export function exampleOf(query: URLSearchParams): Example {
  const rows = parsed(query.get('rows'));
  const given = Object.entries((rows ?? {}) as Record<string, readonly Row[]>).map(([stream, list]) => ({
    stream,
    text: [list]
      .flat()
      .map((row) => JSON.stringify(row))
      .join('\n'),
  }));
  const streams = parsed(query.get('streams'));
  return {
    sql: query.get('sql') ?? undefined,
    given,
    options: parsed(query.get('options')) as Row | undefined,
    streams: Array.isArray(streams) ? streams.map(String) : [],
  };
}

function parsed(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Offers to create the streams that are not there; nothing when all are. */
export function MissingStreams({ streams, onMade }: { streams: readonly string[]; onMade: () => void }) {
  const [missing, setMissing] = useState<readonly string[]>([]);
  const [error, setError] = useState('');
  const look = async () => {
    const known = streams.length === 0 ? [] : await ask('GET /streams');
    setMissing(streams.filter((sql) => !known.includes(/^CREATE\s+STREAM\s+`?([\w-]+)/i.exec(sql)?.[1] ?? '')));
  };
  useEffect(() => void look().catch((failed: unknown) => setError(reasonOf(failed))), [streams]);
  const make = async () => {
    try {
      for (const sql of missing) await ask('POST /streams', { body: { sql } });
      setMissing([]);
      onMade();
    } catch (failed) {
      setError(reasonOf(failed));
    }
  };
  if (missing.length === 0 && error === '') return null;
  return (
    <div class="notice" role="status">
      {missing.length > 0 && (
        <>
          <p>{t('streamsMissing')}</p>
          <pre>{missing.join('\n')}</pre>
          <Changing>
            <button type="button" onClick={() => void make()}>
              {t('createStreams')}
            </button>
          </Changing>
        </>
      )}
      {error !== '' && <p class="bad">{error}</p>}
    </div>
  );
}
