/** Repetitions are taken out of a connection, however it is cut, and nothing else is. */
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { printOf } from '../../../../host/base/mqtt/publish-print.js';
import { Redeliveries } from '../../../../host/connectors/messages/redeliveries.js';

interface Sent {
  id: number;
  text: string;
  isAgain: boolean;
}

function packet(head: number, body: Buffer): Buffer {
  const length: number[] = [];
  for (let left = body.length; ; left = Math.floor(left / 128)) {
    length.push(left < 128 ? left : (left % 128) | 128);
    if (left < 128) break;
  }
  return Buffer.concat([Buffer.from([head, ...length]), body]);
}

const publishOf = ({ id, text, isAgain }: Sent, properties: Buffer = Buffer.alloc(0)) =>
  packet(
    isAgain ? 0x3a : 0x32,
    Buffer.concat([Buffer.from([0, 1, 0x74, id >> 8, id & 255]), properties, Buffer.from(text)]),
  );
const consent = (hasSession: boolean) => Buffer.from([0x20, 2, hasSession ? 1 : 0, 0]);
const ping = Buffer.from([0xd0, 0]);
const mark = (id: number) => Buffer.from([0x40, 2, id >> 8, id & 255]);
const safe = { isSafe: true };

const sifted = (of: Redeliveries<typeof safe>, bytes: Buffer, pieces: readonly number[]): Buffer => {
  const out: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const piece = pieces[i % pieces.length]!;
    // What the kernel gets may be in a buffer that is used again.
    out.push(...of.sift(Buffer.from(bytes.subarray(at, at + piece))).map((part) => Buffer.from(part)));
    at += piece;
  }
  return Buffer.concat(out);
};

test('whatever comes again of what is known is a mark, and all else is as it came', () => {
  const message = fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    text: fc.constantFrom('', 'a', 'b', 'x'.repeat(300), 'y'.repeat(20_000)),
    isAgain: fc.boolean(),
  });
  const pieces = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.array(fc.array(message, { maxLength: 12 }), { maxLength: 5 }), pieces, (connections, sizes) => {
      const one = new Redeliveries<typeof safe>('s', 1 << 20, 4);
      const known = new Map<number, string>();
      connections.forEach((messages, connection) => {
        one.reset();
        const bytes: Buffer[] = [consent(connection > 0)];
        const wanted: Buffer[] = [consent(connection > 0)];
        const taken: number[] = [];
        const here = new Set<number>();
        // A broker that has gone back sends as new what it sent before.
        let mayFallBack = connection > 0;
        for (const sent of messages) {
          bytes.push(publishOf(sent), ping);
          const isSame = known.get(sent.id) === sent.text;
          if (!sent.isAgain) mayFallBack &&= isSame && !here.has(sent.id);
          const isKnown = isSame && (sent.isAgain || mayFallBack);
          wanted.push(isKnown ? mark(sent.id) : publishOf(sent), ping);
          if (isKnown) continue;
          known.set(sent.id, sent.text);
          here.add(sent.id);
          taken.push(sent.id);
        }
        assert.ok(sifted(one, Buffer.concat(bytes), sizes).equals(Buffer.concat(wanted)));
        // None is acknowledged: each id stands for one message.
        one.taken(Uint32Array.from(taken), safe);
      });
    }),
    { numRuns: 300 },
  );
});

/** A broker as the protocol wants it, and the engine's end of the connection. */
class Session {
  readonly #one = new Redeliveries<typeof safe>('s', 1 << 20, 4);
  readonly rows: string[] = [];
  readonly #queue: string[] = [];
  /** Sent and not acknowledged, by id. */
  readonly #inFlight = new Map<number, string>();
  #lastId: number;
  /** On their way to the engine. */
  #wire: Buffer[] = [];
  /** Marks and ids that wait to be acknowledged. */
  #waiting: number[] = [];
  /** What the kernel has not taken. */
  #untaken: Buffer = Buffer.alloc(0);
  #isDeaf = false;
  #isPinged = false;
  readonly published: string[] = [];

  constructor(
    readonly window: number,
    lastId: number,
    readonly reusesIds: boolean,
  ) {
    this.#lastId = lastId;
    this.#one.reset();
    this.#wire.push(consent(false));
  }

  publish(text: string): void {
    this.published.push(text);
    this.#queue.push(text);
    this.#fill();
  }

  #fill(): void {
    while (this.#inFlight.size < this.window && this.#queue.length > 0) {
      let id = this.reusesIds ? 1 : (this.#lastId % 65_535) + 1;
      while (this.#inFlight.has(id)) id = (id % 65_535) + 1;
      this.#lastId = id;
      const text = this.#queue.shift()!;
      this.#inFlight.set(id, text);
      this.#wire.push(publishOf({ id, text, isAgain: false }));
    }
  }

  /** So many bytes arrive. */
  arrive(bytes: number, sizes: readonly number[]): void {
    const all = Buffer.concat(this.#wire);
    this.#wire = bytes < all.length ? [all.subarray(bytes)] : [];
    this.#untaken = Buffer.concat([this.#untaken, sifted(this.#one, all.subarray(0, bytes), sizes)]);
  }

  /** The kernel takes whole packets, so many. */
  take(packets: number): void {
    let at = 0;
    for (let left = packets; left > 0 && at + 2 <= this.#untaken.length; left--) {
      const end = at + 2 + this.#untaken[at + 1]!;
      if (end > this.#untaken.length) break;
      const head = this.#untaken[at]!;
      const again = this.#one.redeliveredIn(this.#untaken.subarray(at, end));
      if (again > 0) this.#waiting.push(again);
      else if (head >> 4 === 3) {
        const id = this.#untaken.readUInt16BE(at + 5);
        this.rows.push(this.#untaken.toString('utf8', at + 7, end));
        this.#one.taken(Uint32Array.of(id), safe);
        this.#waiting.push(id);
      } else if (head === ping[0]) {
        this.#isPinged = false;
        this.#one.answered();
      }
      at = end;
    }
    this.#untaken = this.#untaken.subarray(at);
  }

  /** The engine acknowledges so many; a deaf broker hears none of them. */
  acknowledge(count: number): void {
    for (const id of this.#waiting.splice(0, count)) {
      this.#one.acknowledged(Uint32Array.of(id));
      if (!this.#isDeaf) this.#inFlight.delete(id);
    }
    this.#fill();
  }

  ask(): void {
    if (this.#isPinged) return;
    this.#isPinged = true;
    this.#one.asked();
    if (!this.#isDeaf) this.#wire.push(ping);
  }

  goDeaf(): void {
    this.#isDeaf = true;
  }

  /** The connection breaks, with all that is under way. */
  cut(): void {
    this.#one.reset();
    this.#isDeaf = false;
    this.#isPinged = false;
    this.#waiting = [];
    this.#untaken = Buffer.alloc(0);
    this.#wire = [consent(true)];
    for (const [id, text] of this.#inFlight) this.#wire.push(publishOf({ id, text, isAgain: true }));
    this.#fill();
  }

  /** Until nothing is left. */
  finish(): void {
    this.cut();
    for (let i = 0; i < 10_000 && (this.#inFlight.size > 0 || this.#queue.length > 0); i++) {
      this.arrive(1 << 20, [1 << 20]);
      this.take(1 << 20);
      this.acknowledge(1 << 20);
    }
  }
}

type Step = readonly [name: string, amount: number];
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('publish'), fc.integer({ min: 1, max: 12 })) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('arrive'), fc.integer({ min: 1, max: 120 })) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('take'), fc.integer({ min: 1, max: 8 })) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('acknowledge'), fc.integer({ min: 1, max: 8 })) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('ask', 'deaf', 'cut'), fc.constant(0)) },
);
const plan = {
  steps: fc.array(step, { maxLength: 60 }),
  sizes: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
};

/** Messages are numbered, or one like the other. */
function run(session: Session, steps: readonly Step[], sizes: readonly number[], areEqual: boolean): void {
  for (const [name, amount] of steps) {
    if (name === 'publish') {
      for (let i = 0; i < amount; i++) session.publish(areEqual ? 'x' : String(session.published.length));
    } else if (name === 'arrive') session.arrive(amount, sizes);
    else if (name === 'take') session.take(amount);
    else if (name === 'acknowledge') session.acknowledge(amount);
    else if (name === 'ask') session.ask();
    else if (name === 'deaf') session.goDeaf();
    else session.cut();
  }
  session.finish();
}

test(
  'a broker that counts ids, over any reconnects, lost acknowledgements and the end of its numbers: each message ' +
    'once and in order',
  () => {
    const window = fc.integer({ min: 1, max: 20 });
    const lastId = fc.constantFrom(0, 65_520, 65_534, 65_535);
    fc.assert(
      fc.property(plan.steps, plan.sizes, window, lastId, fc.boolean(), (steps, sizes, most, last, areEqual) => {
        const session = new Session(most, last, false);
        run(session, steps, sizes, areEqual);
        assert.equal(session.rows, session.published);
      }),
      { numRuns: 200 },
    );
  },
);

test('a broker that gives ids again at once loses no message', () => {
  fc.assert(
    fc.property(plan.steps, plan.sizes, fc.integer({ min: 1, max: 20 }), (steps, sizes, most) => {
      const session = new Session(most, 0, true);
      run(session, steps, sizes, false);
      assert.equal([...new Set(session.rows)].sort(), [...session.published].sort());
    }),
    { numRuns: 200 },
  );
});

test('70,000 messages on one connection: ids come round, and only what is not settled is kept', () => {
  const session = new Session(20, 0, false);
  for (let i = 0; i < 70_000; i++) session.publish(String(i));
  while (session.rows.length < 70_000) {
    session.arrive(1 << 20, [1 << 20]);
    session.take(100);
    session.acknowledge(100);
  }
  session.cut();
  session.finish();
  assert.equal(session.rows, session.published);
});

test(
  'a broker that was killed and sends as new what it sent before is known by ids that are not acknowledged, and by ' +
    'nothing else',
  () => {
    const sent = (id: number, text: string) => ({ id, text, isAgain: false });
    const one = new Redeliveries<typeof safe>('s', 1 << 20, 4);
    one.reset();
    one.sift(Buffer.concat([consent(false), ...[1, 2, 3].map((id) => publishOf(sent(id, 'a')))]));
    one.taken(Uint32Array.of(1, 2, 3), safe);
    one.acknowledged(Uint32Array.of(1));
    one.reset();
    const next = [sent(1, 'a'), sent(2, 'a'), sent(4, 'a'), sent(3, 'a')].map((message) => publishOf(message));
    const wanted = Buffer.concat([consent(true), next[0]!, mark(2), next[2]!, next[3]!]);
    assert.ok(sifted(one, Buffer.concat([consent(true), ...next]), [3]).equals(wanted));
    one.reset();
    // A new session knows nothing of it.
    const anew = Buffer.concat([consent(false), next[1]!]);
    assert.ok(sifted(one, anew, [1000]).equals(anew));
  },
);

/** QoS 2: a broker that counts ids in a small round, and is told which packets get lost. */
class ExactSession {
  readonly #one = new Redeliveries<typeof safe>('s', 1 << 20, 4);
  readonly rows: string[] = [];
  readonly published: string[] = [];
  readonly #queue: string[] = [];
  /** Of each id that is not free: the message, and whether the broker has it confirmed. */
  readonly #inFlight = new Map<number, { text: string; isReceived: boolean }>();
  #wire: Buffer[] = [consent(false)];

  constructor(readonly window: number) {
    this.#one.reset();
  }

  publish(): void {
    // All alike: nothing but the id tells them apart.
    this.published.push('x');
    this.#queue.push('x');
    this.#fill();
  }

  #fill(): void {
    for (let id = 1; id <= this.window && this.#queue.length > 0; id++) {
      if (this.#inFlight.has(id)) continue;
      const text = this.#queue.shift()!;
      this.#inFlight.set(id, { text, isReceived: false });
      this.#wire.push(exactOf({ id, text, isAgain: false }));
    }
  }

  /** All that is under way arrives, cut into pieces; of what is answered the broker hears the first ones. */
  turn(sizes: readonly number[], heard: number): void {
    const bytes = sifted(this.#one, Buffer.concat(this.#wire), sizes);
    this.#wire = [];
    const answers: [isFree: boolean, id: number][] = [];
    for (let at = 0; at < bytes.length; at += 2 + bytes[at + 1]!) {
      const packetBytes = bytes.subarray(at, at + 2 + bytes[at + 1]!);
      const again = this.#one.redeliveredIn(packetBytes);
      const free = this.#one.freedIn(packetBytes);
      if (again > 0) answers.push([false, again & 0xffff]);
      else if (free > 0) this.#one.freed(free, () => answers.push([true, free]));
      else if (packetBytes[0]! >> 4 === 3) {
        const id = packetBytes.readUInt16BE(5);
        this.rows.push(packetBytes.toString('utf8', 7));
        this.#one.taken(Uint32Array.of(id | 0x10000), safe);
        answers.push([false, id]);
      }
    }
    for (const [isFree, id] of answers.slice(0, heard)) {
      if (isFree) this.#inFlight.delete(id);
      else {
        this.#inFlight.get(id)!.isReceived = true;
        this.#wire.push(freeOf(id));
      }
    }
    this.#fill();
  }

  /** The connection breaks, with all that is under way. */
  cut(): void {
    this.#one.reset();
    this.#wire = [consent(true)];
    for (const [id, { text, isReceived }] of this.#inFlight)
      this.#wire.push(isReceived ? freeOf(id) : exactOf({ id, text, isAgain: true }));
    this.#fill();
  }

  finish(): void {
    this.cut();
    for (let i = 0; i < 10_000 && (this.#inFlight.size > 0 || this.#queue.length > 0); i++) this.turn([1 << 20], 1e9);
  }
}

const exactOf = ({ id, text, isAgain }: Sent) =>
  packet(isAgain ? 0x3c : 0x34, Buffer.concat([Buffer.from([0, 1, 0x74, id >> 8, id & 255]), Buffer.from(text)]));
const freeOf = (id: number) => Buffer.from([0x62, 2, id >> 8, id & 255]);

test('QoS 2: equal messages under ids that are given again at once are each handed on once, whatever gets lost', () => {
  const exactStep = fc.record({
    publish: fc.integer({ min: 0, max: 8 }),
    heard: fc.constantFrom(0, 1, 3, 1e9),
    isCut: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(exactStep, { maxLength: 40 }),
      plan.sizes,
      fc.integer({ min: 1, max: 6 }),
      (steps, sizes, window) => {
        const session = new ExactSession(window);
        for (const { publish, heard, isCut } of steps) {
          for (let i = 0; i < publish; i++) session.publish();
          session.turn(sizes, heard);
          // What was not heard is lost with its connection.
          if (isCut || heard < 1e9) session.cut();
        }
        session.finish();
        assert.equal(session.rows, session.published);
      },
    ),
    { numRuns: 300 },
  );
});

test('QoS 2: an id that the broker has not freed is that of one message, unless the content is another', () => {
  const one = new Redeliveries<typeof safe>('s', 1 << 20, 4);
  const mark2 = (id: number) => Buffer.from([0x50, 2, id >> 8, id & 255]);
  const message = (text: string, isAgain: boolean) => exactOf({ id: 5, text, isAgain });
  one.reset();
  one.sift(Buffer.concat([consent(false), message('a', false)]));
  one.taken(Uint32Array.of(5 | 0x10000), safe);
  one.acknowledged(Uint32Array.of(5 | 0x10000));
  // On one connection the flag says nothing.
  assert.ok(sifted(one, message('a', false), [3]).equals(mark2(5)));
  one.reset();
  const other = message('b', true);
  assert.ok(
    sifted(one, Buffer.concat([consent(true), message('a', true), other]), [3]).equals(
      Buffer.concat([consent(true), mark2(5), other]),
    ),
  );
  one.taken(Uint32Array.of(5 | 0x10000), safe);
  assert.is(one.firstReceived, 1);
  let answers = 0;
  one.freed(5, () => answers++);
  one.freed(5, () => answers++);
  assert.equal([answers, one.firstReceived, one.count], [2, 2, 2]);
  assert.ok(sifted(one, message('b', true), [3]).equals(message('b', true)));
});

test('MQTT 5: a message whose topic is an alias is never known, one beside it is', () => {
  const publish5 = (id: number, topic: string, properties: readonly number[], isAgain: boolean) =>
    packet(
      isAgain ? 0x3a : 0x32,
      Buffer.from([0, topic.length, ...Buffer.from(topic), id >> 8, id & 255, properties.length, ...properties, 0x61]),
    );
  const one = new Redeliveries<typeof safe>('s', 1 << 20, 5);
  const consent5 = Buffer.from([0x20, 3, 1, 0, 0]);
  one.reset();
  // The alias is named with the topic, and stands for it from then on.
  one.sift(Buffer.concat([consent5, publish5(1, 't', [0x23, 0, 1], false), publish5(2, '', [0x23, 0, 1], false)]));
  one.taken(Uint32Array.of(1, 2), safe);
  one.reset();
  // Another connection may have other aliases.
  const again = [publish5(1, 't', [0x23, 0, 7], true), publish5(2, '', [0x23, 0, 7], true)];
  const wanted = Buffer.concat([consent5, mark(1), again[1]!]);
  assert.ok(sifted(one, Buffer.concat([consent5, ...again]), [2]).equals(wanted));
});

test('what is acknowledged for sure is forgotten, what is not is known on the next connection', () => {
  const one = new Redeliveries<typeof safe>('s', 1 << 20, 4);
  const first = { id: 1, text: 'a', isAgain: false };
  const second = { id: 2, text: 'b', isAgain: false };
  one.sift(Buffer.concat([consent(false), publishOf(first), publishOf(second)]));
  one.taken(Uint32Array.of(1, 2), safe);
  one.acknowledged(Uint32Array.of(1));
  one.asked();
  one.acknowledged(Uint32Array.of(2));
  one.answered();
  assert.is(one.settled, 1);
  one.reset();
  const again = [first, second].map((sent) => publishOf({ ...sent, isAgain: true }));
  assert.ok(Buffer.concat(one.sift(Buffer.concat(again))).equals(Buffer.concat([again[0]!, mark(2)])));
});

test('what a broken connection has left half done is not known', () => {
  const one = new Redeliveries<typeof safe>('s', 1 << 20, 4);
  one.sift(Buffer.concat([consent(false), publishOf({ id: 1, text: 'a', isAgain: false })]));
  one.reset();
  const again = publishOf({ id: 1, text: 'a', isAgain: true });
  assert.ok(Buffer.concat(one.sift(again)).equals(again));
});

test('a message that can not come again is not kept until it is whole', () => {
  const one = new Redeliveries<typeof safe>('s', 1 << 20, 4);
  const part = Buffer.alloc(1 << 20, 0x61);
  const before = process.memoryUsage().arrayBuffers;
  // QoS 0, of 64 MB.
  let passed = Buffer.concat(one.sift(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x20, 0, 1, 0x74]))).length;
  for (let i = 0; i < 64; i++)
    passed += one.sift(i < 63 ? part : part.subarray(3)).reduce((n, { length }) => n + length, 0);
  assert.is(passed, 5 + (64 << 20));
  assert.ok(process.memoryUsage().arrayBuffers - before < 8 << 20);
  const next = { id: 1, text: 'a', isAgain: false };
  one.sift(publishOf(next));
  one.taken(Uint32Array.of(1), safe);
  assert.ok(Buffer.concat(one.sift(publishOf({ ...next, isAgain: true }))).equals(mark(1)));
});

test('the print of a message is that of its content, whatever a broker changes on the way', () => {
  const print = (sent: Buffer) => printOf(sent, sent.length < 130 ? 2 : 3, sent.length, 5);
  const of = (text: string, ...properties: number[]) =>
    print(publishOf({ id: 7, text, isAgain: false }, Buffer.from([properties.length, ...properties])));
  const plain = of('a');
  assert.is(of('a', 0x02, 0, 0, 0, 9), of('a', 0x02, 0, 0, 0, 3));
  assert.is(of('a', 0x02, 0, 0, 0, 9), plain);
  assert.is.not(of('b'), plain);
  assert.is.not(of('a', 0x26, 0, 1, 0x6b, 0, 1, 0x76), plain);
  assert.is(of('a', 0x77), 0);
});

test.run();
