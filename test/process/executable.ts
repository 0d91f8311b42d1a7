/** The single executable built by `npm run build`, and empty folders to run it in. */
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuiltProgram } from '../support/built-program.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts';
import { type Running, type RunOptions, type Service, start, startService } from '../support/process.ts';
import { asServerUser, serverUser } from '../support/server-process.ts';

/** An empty folder, which belongs to another user if this process can switch users. PATH contains no programs. */
export class EmptyPlace implements AsyncDisposable {
  readonly folder: string;
  readonly #executable: string;
  readonly #parent: TemporaryFolder;

  private constructor(executable: string, parent: TemporaryFolder) {
    this.#executable = executable;
    this.#parent = parent;
    this.folder = join(parent.path, 'work');
  }

  static async make({ path }: BuiltProgram): Promise<EmptyPlace> {
    const parent = await temporaryFolder();
    await chmod(parent.path, 0o755);
    const place = new EmptyPlace(path, parent);
    await mkdir(place.folder);
    const user = serverUser();
    if (user !== undefined) await chown(place.folder, user, user);
    return place;
  }

  serve(environment: Readonly<Record<string, string>> = {}): Promise<Service> {
    return startService(this.folder, { ...this.#bare, ...environment }, this.#command('serve'), this.folder);
  }

  run(words: readonly string[], { environment, cwd = this.folder }: RunOptions = {}): Running {
    return start(this.#command(...words), { environment: { ...this.#bare, ...environment }, cwd });
  }

  #command(...words: readonly string[]): string[] {
    return asServerUser([this.#executable, ...words]);
  }

  get #bare(): Record<string, string> {
    return { PATH: join(this.#parent.path, 'nothing'), HOME: '', DRAIN_SECONDS: '0' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parent[Symbol.asyncDispose]();
  }
}
