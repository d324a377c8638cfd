/** Rules drawn as graphs: nodes of the catalogue, connected by hand, saved as a rule, watched as it runs. */

import { useState } from 'preact/hooks';
import { Changing } from '../../parts/changing.js';
import { focusContent } from '../../parts/dialog.js';
import { propsOf, type Typed, textOf } from '../../parts/forms/spec.js';
import { useRates } from '../../parts/history.js';
import { layoutOf, nodeHeight } from '../../parts/layout.js';
import { tried } from '../../parts/notices.js';
import { short } from '../../parts/numbers.js';
import { useOnce, useShown } from '../../parts/once.js';
import { Scroller } from '../../parts/scroller.js';
import { TypedBefore } from '../../parts/typed-before.js';
import { t } from '../../state/language.js';
import { usePolled } from '../../state/polled.js';
import { goTo, linkTo, route } from '../../state/route.js';
import { ask } from '../../state/server.js';
import { Canvas, type CanvasProps } from './canvas.js';
import { type Catalogue, useCatalogue } from './catalogue.js';
import { type DrawingState, useDrawing } from './drawing.js';
import {
  added,
  changed,
  connected,
  type Drawing,
  type DrawnEdge,
  type DrawnNode,
  drawingOf,
  type Graph,
  graphOf,
  removed,
} from './model.js';
import { Palette } from './palette.js';
import { Panel } from './panel.js';

const everyMs = 2000;

/** The page anew for each rule. */
export function GraphEditor() {
  const [, known] = route.value;
  return <Editor key={known ?? ''} known={known} />;
}

function Editor({ known }: { known: string | undefined }) {
  const state = useDrawing(known, stored);
  const { drawing, latest, change, isTyped, discard, saved, missing } = state;
  const [chosen, setChosen] = useState<string>();
  const isShown = useShown();
  const kinds = [...new Set(drawing.nodes.filter(({ type }) => type === 'sink').map(({ kind }) => kind))].sort();
  const catalogue = useCatalogue(kinds);
  const noteOf = useNotes(known, drawing.nodes);
  const node = drawing.nodes.find(({ name }) => name === chosen);
  const { said, add, connect, remove } = useOrders(state, setChosen);
  const save = async (id: string) => {
    if (!(await tried(() => keep(id, known, drawing, catalogue)))) return;
    saved();
    if (isShown()) goTo('editor', id);
  };
  return (
    <div class="page">
      <Head
        known={known}
        isEmpty={drawing.nodes.length === 0}
        onArrange={() => change(arranged(drawing))}
        onSave={save}
      />
      {missing !== '' && (
        <p class="notice" role="alert">
          {missing}
        </p>
      )}
      {isTyped && <TypedBefore onDiscard={discard} />}
      <p class="hidden" role="status">
        {said}
      </p>
      <section class="card" aria-label={t('drawingTitle')}>
        <Palette
          streams={catalogue.streams.map(({ name }) => name)}
          operators={catalogue.operators}
          sinks={catalogue.sinks}
          onAdd={(type, kind) => add({ type, kind })}
        />
        <p class="faint">{t('editorHint')}</p>
        <Scroller label={t('drawingScroll')}>
          <Canvas
            drawing={drawing}
            selected={chosen}
            noteOf={noteOf}
            onSelect={setChosen}
            onDrop={add}
            onMove={(name, x, y) => change(changed(latest.current, name, { x, y }))}
            onConnect={(from, to) => connect({ from, to, output: 0 })}
          />
        </Scroller>
      </section>
      <Chooser nodes={drawing.nodes} chosen={chosen} onChoose={setChosen} />
      {node !== undefined && (
        <Panel
          key={node.name}
          node={node}
          drawing={drawing}
          specs={catalogue.specsOf(node)}
          onTyped={(typed) => change(changed(drawing, node.name, { typed }))}
          onConnect={connect}
          onRemove={() => remove(node.name)}
        />
      )}
    </div>
  );
}

/** What is done to the drawing, and what is read out of it. */
function useOrders({ drawing, latest, change }: DrawingState, choose: (name: string) => void) {
  const [said, setSaid] = useState('');
  const add: CanvasProps['onDrop'] = (given, place) => {
    const next = added(drawing, given, place);
    const name = next.nodes.at(-1)?.name ?? '';
    change(next);
    choose(name);
    setSaid(t('nodeAdded', { name }));
  };
  const connect = (edge: DrawnEdge) => {
    if (edge.from === edge.to) return;
    const next = connected(latest.current, edge);
    setSaid(t(next.edges.length > latest.current.edges.length ? 'nodesConnected' : 'nodesParted', { ...edge }));
    change(next);
  };
  const remove = (name: string) => {
    change(removed(drawing, name));
    setSaid(t('nodeRemoved', { name }));
    focusContent();
  };
  return { said, add, connect, remove };
}

interface HeadProps {
  readonly known: string | undefined;
  readonly isEmpty: boolean;
  readonly onArrange: () => void;
  readonly onSave: (id: string) => Promise<void>;
}

/** The name of the rule, and what is done with the whole drawing. */
function Head({ known, isEmpty, onArrange, onSave }: HeadProps) {
  const [id, setId] = useState(known ?? '');
  const [isBusy, once] = useOnce();
  return (
    <header>
      <h1>{t('editor')}</h1>
      {known !== undefined && <a href={linkTo('rules', known)}>{t('toRule', { name: known })}</a>}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          once(() => onSave(id));
        }}
      >
        <input
          aria-label={t('name')}
          placeholder={t('name')}
          required
          disabled={known !== undefined}
          value={id}
          onInput={(event) => setId(event.currentTarget.value)}
        />
        <button type="button" onClick={onArrange}>
          {t('arrange')}
        </button>
        <Changing>
          <button type="submit" class="main" aria-busy={isBusy} disabled={isEmpty}>
            {t('save')}
          </button>
        </Changing>
      </form>
    </header>
  );
}

interface ChooserProps {
  readonly nodes: readonly DrawnNode[];
  readonly chosen: string | undefined;
  readonly onChoose: (name: string) => void;
}

/** The nodes as buttons, for who does not use a pointer. */
function Chooser({ nodes, chosen, onChoose }: ChooserProps) {
  return (
    <div class="tabs">
      {nodes.map(({ name }) => (
        <button key={name} type="button" aria-pressed={name === chosen} onClick={() => onChoose(name)}>
          {name}
        </button>
      ))}
    </div>
  );
}

/** The drawing of a stored rule. */
async function stored(id: string): Promise<Drawing> {
  const { graph } = await ask('GET /rules/{id}', { path: { id } });
  if (graph === undefined) throw new Error(t('noGraph', { name: id }));
  const typedOf = (props: Readonly<Record<string, unknown>>): Typed =>
    Object.fromEntries(Object.entries(props).map(([name, value]) => [name, textOf(value)]));
  return arranged(drawingOf(graph as unknown as Graph, typedOf));
}

function arranged(drawing: Drawing): Drawing {
  const names = drawing.nodes.map(({ name }) => [name, name] as const);
  const { nodes } = layoutOf(
    names,
    drawing.edges.map(({ from, to }) => [from, to] as const),
    false,
  );
  return nodes.reduce(
    (all, { name, x, y, width }) => changed(all, name, { x: x - width / 2, y: y - nodeHeight / 2 }),
    drawing,
  );
}

function keep(id: string, known: string | undefined, drawing: Drawing, catalogue: Catalogue): Promise<string | object> {
  const typeOf = (stream: string) => catalogue.streams.find(({ name }) => name === stream)?.type ?? stream;
  const graph = graphOf(drawing, (node) => propsOf(catalogue.specsOf(node), node.typed), typeOf);
  const body = { id, graph: { ...graph } };
  return known === undefined ? ask('POST /rules', { body }) : ask('PUT /rules/{id}', { path: { id }, body });
}

/** What flows through the nodes of a rule that is stored, as text. */
function useNotes(id: string | undefined, nodes: readonly DrawnNode[]): (node: DrawnNode) => string {
  const { value } = usePolled(
    async () =>
      id === undefined
        ? undefined
        : { status: await ask('GET /rules/{id}/status', { path: { id } }), time: Date.now() },
    id === undefined ? 0 : everyMs,
    [id],
  );
  const counters = nodes.map((node) => Number(value?.status[`${operatorOf(node)}_0_records_out_total`] ?? 0));
  const rates = useRates(`${id} ${nodes.map(({ name }) => name)}`, value?.time, counters);
  return (node) => {
    const rate = rates.series[nodes.indexOf(node)]?.at(-1);
    return typeof rate === 'number' ? t('perSecond', { n: short(rate) }) : node.kind;
  };
}

/** Name of the operator of a node in the status of its rule. */
function operatorOf({ type, name, kind }: DrawnNode): string {
  return type === 'source' ? `source_${kind}` : type === 'sink' ? `sink_${name}` : `op_${name}`;
}
