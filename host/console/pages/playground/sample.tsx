/** Rows that stand for those of a stream: typed in, from a file, or the next messages of the stream itself. */

import { useState } from 'preact/hooks';
import type { Row } from '../../../sdk/client.js';
import { Changing } from '../../parts/changing.js';
import { t } from '../../state/language.js';
import { client, noted, reasonOf } from '../../state/server.js';

/** Messages taken of a stream: those that come for a while after the first one. */
const mostTaken = 20;
const firstMs = 10_000;
const moreMs = 2000;

interface SampleProps {
  readonly stream: string;
  readonly text: string;
  readonly sql: string;
  readonly onChange: (sample: { stream: string; text: string }) => void;
}

export function Sample({ stream, text, sql, onChange }: SampleProps) {
  const [state, setState] = useState({ isBusy: false, error: '' });
  const name = stream || streamIn(sql);
  const takeFile = async (file: File | undefined) => {
    if (file !== undefined) onChange({ stream, text: await file.text() });
  };
  const takeMessages = async () => {
    setState({ isBusy: true, error: '' });
    try {
      const rows = await nextRows(name);
      onChange({ stream, text: rows.map((row) => JSON.stringify(row)).join('\n') });
      setState({ isBusy: false, error: '' });
    } catch (error) {
      noted(error);
      setState({ isBusy: false, error: reasonOf(error) });
    }
  };
  return (
    <div class="fields">
      <label class="field">
        {t('rowsFor')}
        <input
          value={stream}
          placeholder={streamIn(sql)}
          onInput={(event) => onChange({ stream: event.currentTarget.value, text })}
        />
      </label>
      <label class="field">
        {t('rowsFile')}
        <input
          type="file"
          accept=".json,.ndjson,.txt"
          onChange={(event) => void takeFile(event.currentTarget.files?.[0])}
        />
      </label>
      <label class="field wide">
        {t('rowsText')}
        <textarea
          class="mono"
          rows={6}
          spellcheck={false}
          value={text}
          onInput={(event) => onChange({ stream, text: event.currentTarget.value })}
        />
      </label>
      <div class="row wide">
        <Changing>
          <button type="button" disabled={state.isBusy || name === ''} onClick={() => void takeMessages()}>
            {t('takeMessages', { name })}
          </button>
        </Changing>
        <span role="status">{state.isBusy ? t('noRowsYet') : state.error}</span>
      </div>
    </div>
  );
}

/** The next messages of a stream, as many as come in time. */
async function nextRows(stream: string): Promise<readonly Row[]> {
  const end = new AbortController();
  let timer = setTimeout(() => end.abort(), firstMs);
  const rows: Row[] = [];
  try {
    for await (const found of client.query(`SELECT * FROM ${stream}`, { signal: end.signal })) {
      if (!('row' in found)) continue;
      rows.push(found.row);
      if (rows.length === mostTaken) break;
      if (rows.length > 1) continue;
      clearTimeout(timer);
      timer = setTimeout(() => end.abort(), moreMs);
    }
  } catch (error) {
    if (!end.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  if (rows.length === 0) throw new Error(t('noMessages', { name: stream }));
  return rows;
}

/** The stream that the statement reads first. */
export function streamIn(sql: string): string {
  return /\bfrom\s+`?([\w-]+)/i.exec(sql)?.[1] ?? '';
}
