/** All definitions as a file, and back: what would change is shown before it is done. */
import { useState } from 'preact/hooks';
import { type Definitions, type Difference, differencesOf } from '../../../sdk/differences.js';
import { Changing } from '../../parts/changing.js';
import { tried } from '../../parts/notices.js';
import { useOnce } from '../../parts/once.js';
import { useKeptState } from '../../state/kept.js';
import { t } from '../../state/language.js';
import { ask, reasonOf } from '../../state/server.js';
import { Changes } from './changes.js';

export function Transfer() {
  return (
    <div class="page">
      <header>
        <h1>{t('transfer')}</h1>
      </header>
      <div class="halves">
        <Export />
        <Import />
      </div>
    </div>
  );
}

function Export() {
  const [hasSecrets, setSecrets] = useState(false);
  const save = async (isYaml: boolean) => {
    const query = { secrets: hasSecrets ? 'include' : 'omit' };
    const blob = await (isYaml ? ask('GET /v2/data/export', { query }) : ask('GET /data/export', { query }));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = isYaml ? 'haumea.yaml' : 'haumea.json';
    link.click();
    URL.revokeObjectURL(link.href);
    return link.download;
  };
  return (
    <section class="card">
      <h2>{t('export')}</h2>
      <p class="faint">{t('exportHint')}</p>
      <Changing>
        <label class="row">
          <input type="checkbox" checked={hasSecrets} onChange={() => setSecrets(!hasSecrets)} />
          {t('withSecrets')}
        </label>
      </Changing>
      <div class="row">
        <button type="button" class="main" onClick={() => void tried(() => save(false))}>
          JSON
        </button>
        <button type="button" onClick={() => void tried(() => save(true))}>
          YAML
        </button>
      </div>
    </section>
  );
}

function Import() {
  const [content, setContent] = useKeptState('import', '');
  const [isBusy, once] = useOnce();
  const [isPartial, setPartial] = useState(true);
  const [result, setResult] = useState<{ text: string; isBad: boolean }>();
  const [differences, setDifferences] = useState<readonly Difference[]>();
  const isYaml = content.trim() !== '' && !content.trim().startsWith('{');
  const give = async (isDry: boolean) => {
    setDifferences(undefined);
    try {
      if (isDry) setDifferences(await compared(content, isYaml, isPartial));
      const text = await carryOut(content, { isYaml, isPartial, isDry });
      setResult({ text: text || t(isDry ? 'wouldImport' : 'imported'), isBad: text !== '' });
    } catch (error) {
      setResult({ text: reasonOf(error), isBad: true });
    }
  };
  return (
    <section class="card">
      <h2>{t('import')}</h2>
      <label class="field">
        {t('file')}
        <input
          type="file"
          accept=".json,.yaml,.yml"
          onChange={async (event) => setContent((await event.currentTarget.files?.[0]?.text()) ?? '')}
        />
      </label>
      <label class="field">
        {t('content')}
        <textarea
          class="mono"
          rows={8}
          spellcheck={false}
          value={content}
          onInput={(event) => setContent(event.currentTarget.value)}
        />
      </label>
      {!isYaml && (
        <label class="row">
          <input type="checkbox" checked={isPartial} onChange={() => setPartial(!isPartial)} />
          {t('keepOthers')}
        </label>
      )}
      <div role="status">
        {result !== undefined && <pre class={`notice ${result.isBad ? 'bad' : ''}`}>{result.text}</pre>}
      </div>
      {differences !== undefined && <Changes differences={differences} />}
      <div class="row">
        <Changing>
          <button type="button" disabled={content === ''} aria-busy={isBusy} onClick={() => once(() => give(true))}>
            {t('dryRun')}
          </button>
          <button
            type="button"
            class="main"
            disabled={content === ''}
            aria-busy={isBusy}
            onClick={() => once(() => give(false))}
          >
            {t('import')}
          </button>
        </Changing>
      </div>
    </section>
  );
}

/** What the document would change; what the server has is asked for without passwords and keys. */
async function compared(content: string, isYaml: boolean, isPartial: boolean): Promise<readonly Difference[]> {
  const text = await (await ask('GET /data/export', { query: { secrets: 'omit' } })).text();
  // YAML adds to what is there.
  return differencesOf(JSON.parse(text), await read(content, isYaml), isYaml || isPartial);
}

async function read(content: string, isYaml: boolean): Promise<Definitions> {
  if (!isYaml) return JSON.parse(content);
  const { parse } = await import('yaml');
  return parse(content, { maxAliasCount: 100 });
}

interface How {
  readonly isYaml: boolean;
  readonly isPartial: boolean;
  readonly isDry: boolean;
}

/** Imports, or looks what importing would do; resolves with what was refused, item by item. */
async function carryOut(content: string, { isYaml, isPartial, isDry }: How): Promise<string> {
  const dryRun = isDry ? { dryRun: '1' } : {};
  if (isYaml) {
    await ask('POST /v2/data/import', { query: dryRun, body: { content } });
    return '';
  }
  const query = { ...dryRun, ...(isPartial ? { partial: '1' } : {}) };
  const { ErrorMsg, ConfigResponse } = await ask('POST /data/import', { query, body: { content } });
  const refused = Object.entries(ConfigResponse).flatMap(([section, items]) =>
    Object.entries(items ?? {}).map(([id, reason]) => `${section} ${id}: ${reason}`),
  );
  return [ErrorMsg, ...refused].filter((text) => text).join('\n');
}
