/** The program that the bundlers bundle. */
import { openOrrery } from "orrery";
import { options } from "./options.mjs";

async function main() {
  const orrery = await openOrrery(options);
  const { data } = await orrery.client().stats();
  console.log(data.totalUsers);
  orrery.close();
}
void main();
