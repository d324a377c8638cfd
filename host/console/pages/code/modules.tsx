/** WebAssembly modules: installed from a file, with their functions, memory and limits. */
import { useState } from 'preact/hooks';
import { Collection } from '../../parts/collection.js';
import { Making, TextField } from '../../parts/forms/making.js';
import { bytes, short } from '../../parts/numbers.js';
import { t } from '../../state/language.js';
import { ask } from '../../state/server.js';

async function list() {
  const modules = await ask('GET /plugins/wasm');
  return Promise.all(
    modules.map(async ({ name, functions, codecs = [] }) => {
      const { memoryBytes, limits } = await ask('GET /plugins/wasm/{name}', { path: { name } });
      const parts = [[...functions, ...codecs].join(', '), t('usesMemory', { n: bytes(memoryBytes) })];
      return { id: name, about: [...parts, t('fuel', { n: short(limits.callFuel) })].join(' · ') };
    }),
  );
}

export function Modules() {
  return (
    <Collection
      title={t('modules')}
      list={list}
      describe={(name) => ask('GET /plugins/wasm/{name}', { path: { name } })}
      remove={(name) => ask('DELETE /plugins/wasm/{name}', { path: { name } })}
      create={(done) => <ModuleForm done={done} />}
    />
  );
}

function ModuleForm({ done }: { done: () => void }) {
  const [name, setName] = useState('');
  const [file, setFile] = useState<File>();
  const make = async () => {
    const made = await ask('POST /plugins/wasm', { body: { name, bytecode: await base64Of(file!) } });
    return `${made.name}: ${made.functions.join(', ')}`;
  };
  const take = (chosen: File | undefined) => {
    setFile(chosen);
    if (name === '' && chosen !== undefined) setName(chosen.name.replace(/\.wasm$/, ''));
  };
  return (
    <Making make={make} done={done}>
      <div class="fields">
        <label class="field">
          {t('file')}
          <input type="file" accept=".wasm" required onChange={(event) => take(event.currentTarget.files?.[0])} />
        </label>
        <TextField label={t('name')} text={name} onText={setName} />
      </div>
    </Making>
  );
}

async function base64Of(file: File): Promise<string> {
  const content = new Uint8Array(await file.arrayBuffer());
  let text = '';
  // A call takes a limited number of arguments.
  for (let i = 0; i < content.length; i += 8192) text += String.fromCharCode(...content.subarray(i, i + 8192));
  return btoa(text);
}
