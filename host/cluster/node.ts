/** This server as a node of a cluster: its definitions, its lease, and the rules that it runs. */
import type { Logger } from '../base/log/log.js';
import type { Store } from '../meta/store.js';
import type { Engine, RuleState } from '../model/engine.js';
import { Fence, monotonicMs } from '../run/link/fence.js';
import { Asks } from './asks.js';
import { Bucket } from './bucket.js';
import { BucketStore, type BucketStoreOptions } from './bucket-store.js';
import { Deaths } from './deaths.js';
import { Disk } from './disk.js';
import { clusterErrors } from './errors.js';
import { SharedFiles } from './files/shared-files.js';
import { SharedUploads } from './files/shared-uploads.js';
import { FileSweep } from './files/sweep.js';
import { Leaders } from './leaders.js';
import { LeaseView } from './lease-view.js';
import { Leased } from './leased-engine.js';
import { ClusterLink } from './link.js';
import { Placing } from './placing.js';
import { Seal } from './seal.js';
import { Session } from './session.js';
import type { NodeSettings } from './settings.js';
import { ObjectStore } from './state/objects.js';
import { type Lease, RuleStates } from './state/rule-states.js';

/** Longest wait of a request to another node to drain, ms. */
const drainAskMs = 5000;

export interface ClusterNodeOptions {
  readonly settings: NodeSettings;
  readonly local: Store;
  /** Data folder of this node. */
  readonly data: string;
  readonly holdsSecret: BucketStoreOptions['holdsSecret'];
  readonly log: Logger;
}

export interface NodeStatus {
  readonly name: string;
  readonly url: string;
  readonly since: number;
  readonly isDraining: boolean;
  /** Why it gives its rules away, when nobody asked for it. */
  readonly reason?: string;
  readonly rules: number;
}

export interface ClusterStatus {
  readonly cluster: string;
  readonly node: string;
  /** Empty: NATS is there. */
  readonly natsAway: string;
  /** Whether this node may have rules now. */
  readonly hasLease: boolean;
  readonly hasKey: boolean;
  /** Definitions that this node can't read. */
  readonly sealed: readonly string[];
  readonly nodes: readonly NodeStatus[];
  /** Rules that are to run and that no node has. */
  readonly unplaced: readonly string[];
  readonly leases?: readonly { readonly rule: string; readonly node: string; readonly revision: number }[];
}

interface Parts {
  readonly link: ClusterLink;
  readonly definitions: Bucket;
  readonly leases: Bucket;
  readonly checkpoints: Bucket;
  readonly objects: ObjectStore;
  readonly beats: readonly Bucket[];
  readonly deaths: Deaths;
  readonly files: SharedFiles;
  readonly uploadEntries: Bucket;
  readonly uploads: SharedUploads;
  readonly sweep: FileSweep;
  readonly store: BucketStore;
  readonly view: LeaseView;
}

export class ClusterNode {
  readonly store: BucketStore;
  /** Shared with the threads that run rules. */
  readonly fence = Fence.allocate();
  /** Checkpoints of the rules. */
  readonly states: RuleStates;
  /** Files of plugins, schemas and services. */
  readonly files: SharedFiles;
  readonly uploads: SharedUploads;
  readonly #session: Session;
  readonly #asks: Asks;
  readonly #leaders: Leaders;
  readonly #disk: Disk;
  #leased: Leased | undefined;
  #placing: Placing | undefined;
  #engine: Engine | undefined;
  #url = '';

  private constructor(
    private readonly options: ClusterNodeOptions,
    private readonly parts: Parts,
  ) {
    const { settings, log } = options;
    const fence = new Fence(this.fence);
    this.store = parts.store;
    this.#asks = new Asks(parts.link.connection, settings.cluster);
    this.files = parts.files;
    this.uploads = parts.uploads;
    this.states = new RuleStates({
      bucket: parts.checkpoints,
      objects: parts.objects,
      leaseOf: (rule) => this.#leaseOf(rule),
      lastLeaseOf: (rule) => parts.view.claim(rule).revision,
      log,
    });
    const isFirst = () => parts.view.nodes()[0]?.[0] === settings.node;
    this.#leaders = new Leaders(parts.link.connection, parts.beats, isFirst, log);
    this.#disk = new Disk(options.data, (reason) => this.#noteDisk(reason));
    // What others have told meanwhile is gone.
    parts.link.onChange.add(() => {
      if (parts.link.away !== undefined) return;
      this.#session.beat();
      void this.#learnAll();
    });
    this.#session = new Session({
      bucket: parts.leases,
      beats: parts.beats,
      view: parts.view,
      node: settings.node,
      url: () => this.#url,
      ttlMs: settings.leaseTtlMs,
      now: monotonicMs,
      onExtended: (until) => {
        fence.until = until;
      },
      onLost: () => this.#stopAll(),
      onOpen: () => void this.#learnAll(),
      log,
    });
  }

  /** Connects and reads the definitions; throws a `config` error that says what is in the way. */
  static async open(options: ClusterNodeOptions): Promise<ClusterNode> {
    const { settings, local, data, holdsSecret, log } = options;
    const { cluster, replicas, key } = settings;
    const link = await ClusterLink.open(settings, log);
    try {
      const definitions = await Bucket.open(link, `${cluster}_definitions`, { replicas });
      const leases = await Bucket.open(link, `${cluster}_leases`, { replicas });
      // While the server that leads one is away, the other goes on.
      const names = replicas > 1 ? ['beats', 'beats2'] : ['beats'];
      const beats = await Promise.all(names.map((name) => Bucket.open(link, `${cluster}_${name}`, { replicas })));
      const checkpoints = await Bucket.open(link, `${cluster}_checkpoints`, { replicas });
      const objects = await ObjectStore.open(link, `${cluster}_checkpoints`, replicas);
      const seal = new Seal(key);
      const packages = await ObjectStore.open(link, `${cluster}_files`, replicas);
      const files = new SharedFiles(packages, key, data);
      const store = await BucketStore.open({ bucket: definitions, seal, local, files, holdsSecret, log });
      const uploadEntries = await Bucket.open(link, `${cluster}_uploads`, { replicas });
      const uploads = await SharedUploads.open({ bucket: uploadEntries, objects: packages, key, data, log });
      const view = await LeaseView.of(leases);
      const { node: name, leaseTtlMs: ttlMs } = settings;
      const deaths = new Deaths({ beats, bucket: leases, view, node: name, ttlMs, now: monotonicMs, log });
      const sweep = new FileSweep({ objects: packages, store, uploads, hasKey: seal.hasKey, log });
      const shared = { files, uploadEntries, uploads, sweep };
      const parts = { link, definitions, leases, beats, deaths, checkpoints, objects, ...shared, store, view };
      const node = new ClusterNode(options, parts);
      await deaths.free(name);
      if (!seal.hasKey) log.warn('this node has no key of the cluster: definitions with secrets are closed to it');
      return node;
    } catch (error) {
      await link.close();
      throw error;
    }
  }

  /** The engine that runs the rules of this node alone. */
  lead(engine: Engine, typeOf: (source: string) => string | undefined): Engine {
    const { settings, log } = this.options;
    const { leases: bucket, view } = this.parts;
    const { node } = settings;
    const placing: Placing = new Placing({
      bucket,
      view,
      session: this.#session,
      node,
      groupOf: (id) => leased.groupOf(id),
      isKnown: (id) => engine.state(id) !== undefined,
      onTaken: (id, former) => void leased.taken(id, former),
      onGiven: (id) => leased.given(id),
      isLive: (id) => isLive(engine.state(id)),
      asks: this.#asks,
      onChange: () => leased.look(),
      log,
    });
    const leased: Leased = new Leased({
      engine,
      node,
      placing,
      states: this.states,
      asks: this.#asks,
      typeOf,
      others: () => view.nodes().flatMap(([name]) => (name === node ? [] : [name])),
      drain: (isDraining) => this.#session.setDraining(isDraining),
      log,
    });
    this.#engine = engine;
    this.#placing = placing;
    this.#leased = leased;
    return leased.engine;
  }

  /** Takes part, with the address of this server: from now on rules run here. */
  async join(url: string): Promise<void> {
    this.#url = url;
    this.parts.deaths.start();
    this.#disk.start();
    this.#leaders.start();
    this.parts.sweep.start();
    await this.#session.join();
  }

  status(withLeases: boolean): ClusterStatus {
    const { settings } = this.options;
    const { link, view, store } = this.parts;
    const loads = view.loads();
    const placing = this.#placing;
    const wanted = placing?.wanted() ?? [];
    const leases = () =>
      [...view.claimed()].sort().flatMap((rule) => {
        const node = view.ownerOf(rule);
        return node === undefined ? [] : [{ rule, node, revision: view.claim(rule).revision }];
      });
    return {
      cluster: settings.cluster,
      node: settings.node,
      natsAway: link.away ?? '',
      hasLease: this.#session.id !== undefined,
      hasKey: settings.key !== undefined,
      sealed: store.sealed(),
      nodes: view.nodes().map(([name, { url, since, isDraining, reason }]) => {
        return { name, url, since, isDraining, ...(reason && { reason }), rules: loads.get(name) ?? 0 };
      }),
      unplaced: wanted.filter((id) => placing?.ownerOf(id) === undefined),
      ...(withLeases && { leases: leases() }),
    };
  }

  /** Whether another node runs the rule. */
  isElsewhere(id: string): boolean {
    return (this.#placing?.ownerOf(id) ?? this.options.settings.node) !== this.options.settings.node;
  }

  /** Has a node give its rules away, or take some again. */
  async drain(name: string, isDraining: boolean): Promise<void> {
    const { node } = this.options.settings;
    if (this.parts.view.node(name).value === undefined) throw clusterErrors.noNode(name);
    if (name === node) await this.#session.setDraining(isDraining);
    else await this.#asks.ask(name, 'drain', [isDraining], drainAskMs);
  }

  /** Takes no more rules, as the server ends: none would run here. */
  rest(): void {
    this.#placing?.close();
  }

  /** Leaves, when the rules are stopped: other nodes take them at once. */
  async leave(): Promise<void> {
    this.rest();
    this.parts.deaths.close();
    this.#disk.close();
    this.#leaders.close();
    this.parts.sweep.close();
    this.#asks.close();
    await this.#session.close();
  }

  async close(): Promise<void> {
    await this.store.close();
    this.parts.definitions.close();
    this.parts.leases.close();
    this.parts.uploadEntries.close();
    await this.parts.link.close();
  }

  #leaseOf(rule: string): Lease | undefined {
    const { node } = this.options.settings;
    const revision = this.#placing?.leaseOf(rule);
    return revision === undefined ? undefined : { node, revision };
  }

  #noteDisk(failure: string | undefined): void {
    const { log } = this.options;
    const reason = failure && `its disk takes nothing (${failure})`;
    if (reason === undefined) log.info('the disk takes what is written again: rules may run here');
    else log.warn(`this node gives its rules to others: ${reason}`);
    void this.#session.setUnfit(reason);
  }

  async #stopAll(): Promise<void> {
    const engine = this.#engine;
    const held = this.#placing?.lose() ?? [];
    if (engine === undefined) return;
    await Promise.all(
      held.map(async (id) => {
        if (engine.state(id) !== undefined) await engine.stop(id);
      }),
    );
  }

  async #learnAll(): Promise<void> {
    const { node } = this.options.settings;
    for (const [name] of this.parts.view.nodes()) if (name !== node) await this.#leased?.learn(name);
  }
}

/** Whether a rule does anything, or will without an order. */
function isLive(state: RuleState | undefined): boolean {
  return state !== undefined && state !== 'stopped' && state !== 'stopped by error';
}
