/**
 * 64 workers on one client, until SIGTERM: `KEY=… bun client-restart-worker.ts NAME URL SEED`. Prints a
 * point to standard error after each life, and the result as JSON at the end. It also runs in Node.js, as a bundle.
 */
import { AnimalStore } from '../../client/src/index.ts';
import { randomFrom } from '../support/random.ts';

/** The result of the workers of one process. */
export interface Worked {
  readonly calls: number;
  readonly retries: number;
  /** Longest call, milliseconds. */
  readonly slowestMs: number;
  readonly failures: readonly string[];
  /** Animals with the number of times their name was extended, and orders by reference. */
  readonly pets: Readonly<Record<string, number>>;
  readonly orders: readonly string[];
}

const workers = 64;
const longestPauseMs = 400;

const [, , name = '', url, seed] = process.argv;
const random = randomFrom(Number(seed));
let isStopping = false;
process.once('SIGTERM', () => {
  isStopping = true;
});

let calls = 0;
let retries = 0;
let slowestMs = 0;
const failures: string[] = [];
const pets: Record<string, number> = {};
const orders: string[] = [];

const store = new AnimalStore({ key: process.env.KEY, url, onRetry: () => void retries++ });

async function call<Data>(request: () => Promise<Data>): Promise<Data> {
  const from = performance.now();
  try {
    return await request();
  } finally {
    calls++;
    slowestMs = Math.max(slowestMs, Math.round(performance.now() - from));
  }
}

/** Creates, changes, orders and removes, each call of a kind that may be retried. */
async function live(life: string, categoryId: bigint): Promise<void> {
  const pet = await call(() => store.pets.create({ name: life, categoryId }));
  pets[life] = 0;
  for (let times = 1; times <= 2; times++) {
    await call(() => store.pets.updateWith(pet.id, ({ name }) => ({ name: `${name}+` })));
    pets[life] = times;
  }
  const order = await call(() => store.orders.place({ petId: pet.id, reference: life }));
  orders.push(life);
  await call(() => store.orders.approve(order.id));
  await call(() => store.orders.cancel(order.id));
  await call(() => store.categories.put(categoryId, { name: life }));
  const gone = await call(() => store.pets.create({ name: `${life}, gone`, categoryId }));
  await call(() => store.pets.delete(gone.id));
  const found = await call(() => store.pets.find(gone.id));
  if (found !== undefined) throw new Error('it was not removed');
}

async function work(worker: number): Promise<void> {
  for (let number = 0; !isStopping; number++) {
    const life = `${name} ${worker} ${number}`;
    try {
      await live(life, BigInt(worker + 1));
    } catch (error) {
      failures.push(`${life}: ${error}`);
    }
    process.stderr.write('.');
    await new Promise((resolve) => setTimeout(resolve, random() * longestPauseMs));
  }
}

await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
const worked: Worked = { calls, retries, slowestMs, failures, pets, orders };
process.stdout.write(`${JSON.stringify(worked)}\n`);
process.exit(0);
