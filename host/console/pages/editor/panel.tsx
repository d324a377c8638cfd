/** The node that is chosen: its properties, and where it leads, for hands and for keys. */
import { useState } from 'preact/hooks';
import type { PropertySpec, Typed } from '../../parts/forms/spec.js';
import { SpecForm } from '../../parts/forms/spec-form.js';
import { t } from '../../state/language.js';
import { type Drawing, type DrawnEdge, type DrawnNode, hasOutputs, targetsOf } from './model.js';

interface PanelProps {
  readonly node: DrawnNode;
  readonly drawing: Drawing;
  readonly specs: readonly PropertySpec[];
  readonly onTyped: (typed: Typed) => void;
  readonly onConnect: (edge: DrawnEdge) => void;
  readonly onRemove: () => void;
}

export function Panel({ node, drawing, specs, onTyped, onConnect, onRemove }: PanelProps) {
  const [output, setOutput] = useState(0);
  const [target, setTarget] = useState('');
  const connect = (event: Event) => {
    event.preventDefault();
    onConnect({ from: node.name, to: target, output });
    setTarget('');
  };
  const own = drawing.edges.filter(({ from }) => from === node.name);
  const free = targetsOf(drawing, node.name).filter(
    ({ name }) => !own.some((edge) => edge.to === name && edge.output === output),
  );
  return (
    <section class="card" aria-label={t('chosenNode')}>
      <header>
        <h2>
          {node.name} <span class="faint">{node.kind}</span>
        </h2>
        <button type="button" class="danger" onClick={onRemove}>
          {t('remove')}
        </button>
      </header>
      {specs.length > 0 && <SpecForm specs={specs} typed={node.typed} onChange={onTyped} />}
      {node.type !== 'sink' && (
        <div class="row">
          {hasOutputs(node) && (
            <label class="row">
              {t('outputOf')}
              <input
                type="number"
                min={1}
                value={output + 1}
                onInput={(event) => setOutput(Math.max(0, Number(event.currentTarget.value) - 1))}
              />
            </label>
          )}
          <form class="row" onSubmit={connect}>
            <label class="row">
              {t('leadsTo')}
              <select required value={target} onChange={(event) => setTarget(event.currentTarget.value)}>
                <option value="">–</option>
                {free.map(({ name }) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <button type="submit" disabled={target === ''}>
              {t('connect')}
            </button>
          </form>
          {own.map((edge) => (
            <button key={`${edge.output} ${edge.to}`} type="button" onClick={() => onConnect(edge)}>
              {hasOutputs(node) ? `${edge.output + 1}: ${edge.to}` : edge.to} ×<span class="hidden">{t('remove')}</span>
            </button>
          ))}
        </div>
      )}
    </section>
  );
}
