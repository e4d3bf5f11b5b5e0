#!/usr/bin/env node
// The installed command. Node strips no types inside node_modules, and Node 20 none at all, so tsx does it.
import { register } from "tsx/esm/api";

register();
await import("../src/main.ts");
