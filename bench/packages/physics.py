"""Programs that simulate nature: particles, bodies, quanta, cells, stars."""

import numpy as np

from . import REQUIREMENTS, program

REQUIREMENTS |= {
    "jax_md": "jax-md==0.2.29",
    "brax": "brax==0.14.2",
    "mujoco": "mujoco-mjx==3.17.0",
    "dynamiqs": "dynamiqs==0.3.7",
    "jaxley": "jaxley==0.14.0",
    "netket": "netket==3.23.0",
    "s2fft": "s2fft==1.5.0",
    "exojax": "exojax==2.6.0",
    "jnkepler": "jnkepler==0.2.9",
    "frax": "frax==0.1.0",
}

rng = np.random.default_rng(5)


def normal(*shape):
    return rng.standard_normal(shape, np.float32)


# --- jax-md ---------------------------------------------------------------------------------------


@program("jax_md", tolerance=1e-2)
def jax_md_soft_spheres():
    """Relaxes soft spheres by FIRE, with all pairs of particles."""
    import jax
    import jax.numpy as jnp
    from jax_md import energy, minimize, space

    displacement, shift = space.periodic(8.0)
    potential = energy.soft_sphere_pair(displacement)
    init, apply = minimize.fire_descent(potential, shift)
    positions = jnp.asarray(rng.uniform(0, 8, (64, 2)), jnp.float32)

    @jax.jit
    def call():
        state = jax.lax.fori_loop(0, 100, lambda _, s: apply(s), init(positions))
        return potential(state.position)

    return call


def lattice(side, spacing):
    grid = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)
    return (grid * spacing).astype(np.float32)


@program("jax_md", tolerance=1e-2)
def jax_md_neighbor_list():
    """Lennard-Jones particles with a neighbour list, by velocity Verlet (NVE)."""
    import jax
    import jax.numpy as jnp
    from jax_md import energy, simulate, space

    box = 6 * 1.2
    displacement, shift = space.periodic(box)
    neighbors, potential = energy.lennard_jones_neighbor_list(
        displacement, box, r_onset=1.5, r_cutoff=2.0, dr_threshold=0.3
    )
    init, apply = simulate.nve(potential, shift, 1e-3)
    positions = jnp.asarray(lattice(6, 1.2))
    nearby = neighbors.allocate(positions)

    @jax.jit
    def run(key, nearby):
        state = init(key, positions, kT=0.5, neighbor=nearby)

        def step(_, carry):
            state, nearby = carry
            nearby = nearby.update(state.position)
            return apply(state, neighbor=nearby), nearby

        state, nearby = jax.lax.fori_loop(0, 20, step, (state, nearby))
        return state.position, potential(state.position, neighbor=nearby)

    return lambda: run(jax.random.PRNGKey(0), nearby)


@program("jax_md", tolerance=1e-2)
def jax_md_langevin():
    import jax
    import jax.numpy as jnp
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(10.0)
    potential = energy.lennard_jones_pair(displacement, sigma=1.0, epsilon=1.0)
    init, apply = simulate.nvt_langevin(potential, shift, 1e-3, kT=0.5, gamma=0.3)
    positions = jnp.asarray(lattice(4, 2.0))

    @jax.jit
    def run(key):
        state = init(key, positions)
        state = jax.lax.fori_loop(0, 50, lambda _, s: apply(s), state)
        return state.position

    return lambda: run(jax.random.PRNGKey(1))


# --- brax, MuJoCo ---------------------------------------------------------------------------------


def brax_call(name, backend, steps, lanes):
    import jax
    import jax.numpy as jnp
    from brax import envs

    environment = envs.get_environment(name, backend=backend)
    reset, step = environment.reset, environment.step

    def rollout(key):
        state = reset(key)

        def move(state, i):
            state = step(state, 0.3 * jnp.sin(0.2 * i + jnp.arange(environment.action_size)))
            return state, (state.reward, state.obs[:4])

        return jax.lax.scan(move, state, jnp.arange(steps))[1]

    run = jax.jit(jax.vmap(rollout))
    keys = jax.random.split(jax.random.PRNGKey(0), lanes)
    return lambda: run(keys)


@program("brax.envs", tolerance=1e-2)
def brax_ant_positional():
    return brax_call("ant", "positional", 3, 8)


@program("brax.envs", tolerance=1e-2)
def brax_inverted_pendulum_spring():
    return brax_call("inverted_pendulum", "spring", 10, 16)


@program("brax.envs", tolerance=1e-2)
def brax_reacher_generalized():
    return brax_call("reacher", "generalized", 4, 8)


SWIMMER = """
<mujoco>
  <option timestep="0.01" solver="CG" iterations="4" ls_iterations="4"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .5">
      <freejoint/>
      <geom type="sphere" size=".1"/>
      <body pos=".2 0 0">
        <joint name="j" type="hinge" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="j" gear="1"/></actuator>
</mujoco>
"""


def mjx_call(lanes, steps):
    """A call that steps a body that falls onto a plane, in lanes with other controls."""
    import jax
    import jax.numpy as jnp
    import mujoco
    from mujoco import mjx

    model = mujoco.MjModel.from_xml_string(SWIMMER)
    placed = mjx.put_model(model, impl="jax")
    data = mjx.put_data(model, mujoco.MjData(model), impl="jax")

    def rollout(control):
        def step(d, _):
            d = mjx.step(placed, d.replace(ctrl=control))
            return d, d.qpos

        return jax.lax.scan(step, data, length=steps)[1]

    run = jax.jit(jax.vmap(rollout))
    controls = jnp.linspace(-1, 1, lanes)[:, None]
    return lambda: run(controls)


@program("mujoco.mjx", tolerance=1e-2)
def mjx_steps():
    return mjx_call(1, 10)


@program("mujoco.mjx", tolerance=1e-2)
def mjx_steps_vmapped():
    return mjx_call(32, 5)


# --- dynamiqs -------------------------------------------------------------------------------------


def cat_qubit(size):
    import dynamiqs as dq

    a = dq.destroy(size)
    return a, 1j * (a @ a - dq.dag(a) @ dq.dag(a)), [0.5 * a, 0.3 * dq.dag(a) @ a]


@program("dynamiqs")
def dynamiqs_mesolve():
    """The master equation of a driven, damped oscillator."""
    import dynamiqs as dq
    import jax.numpy as jnp

    a, hamiltonian, jumps = cat_qubit(16)
    times = jnp.linspace(0, 1.0, 21)

    def call():
        solved = dq.mesolve(
            hamiltonian,
            jumps,
            dq.coherent(16, 1.0),
            times,
            exp_ops=[dq.dag(a) @ a],
            progress_meter=False,
        )
        return solved.expects, solved.states.to_jax()[-1]

    return call


@program("dynamiqs")
def dynamiqs_sesolve_batch():
    """Schroedinger's equation for a batch of detunings."""
    import dynamiqs as dq
    import jax.numpy as jnp

    a = dq.destroy(12)
    detunings = jnp.linspace(-1, 1, 16)
    hamiltonian = detunings[:, None, None] * (dq.dag(a) @ a).to_jax() + (a + dq.dag(a)).to_jax()
    times = jnp.linspace(0, 2.0, 11)

    def call():
        solved = dq.sesolve(
            hamiltonian, dq.fock(12, 0), times, exp_ops=[dq.dag(a) @ a], progress_meter=False
        )
        return solved.expects

    return call


@program("dynamiqs")
def dynamiqs_gradient():
    """The gradient of a fidelity by the amplitude of a pulse."""
    import dynamiqs as dq
    import jax
    import jax.numpy as jnp

    times = jnp.linspace(0, 3.0, 11)

    @jax.jit
    @jax.value_and_grad
    def loss(amplitudes):
        pulse = dq.modulated(
            lambda t: amplitudes[0] * jnp.exp(-((t - amplitudes[1]) ** 2)), dq.sigmax()
        )
        solved = dq.mesolve(
            pulse + 0.2 * dq.sigmaz(),
            [0.1 * dq.sigmam()],
            dq.basis(2, 0),
            times,
            progress_meter=False,
        )
        return 1 - solved.states.to_jax()[-1, 1, 1].real

    return lambda: loss(jnp.array([0.8, 1.5]))


# --- jaxley ---------------------------------------------------------------------------------------


def neuron():
    import jaxley as jx
    from jaxley.channels import HH

    cell = jx.Cell(jx.Branch(jx.Compartment(), ncomp=4), parents=[-1, 0, 0, 1, 1])
    cell.insert(HH())
    return cell


@program("jaxley", tolerance=1e-2)
def jaxley_hodgkin_huxley():
    """A cell of five branches under a current step."""
    import jax
    import jaxley as jx

    cell = neuron()
    current = jx.step_current(i_delay=1.0, i_dur=2.0, i_amp=0.5, delta_t=0.025, t_max=10.0)
    cell.branch(0).loc(0.0).stimulate(current)
    cell.branch(3).loc(1.0).record()
    run = jax.jit(lambda: jx.integrate(cell, delta_t=0.025))
    return run


@program("jaxley", tolerance=1e-2)
def jaxley_gradient():
    """The gradient of a voltage by the conductances of all branches."""
    import jax
    import jaxley as jx

    cell = neuron()
    current = jx.step_current(i_delay=0.5, i_dur=1.0, i_amp=0.5, delta_t=0.025, t_max=3.0)
    cell.branch(0).loc(0.0).stimulate(current)
    cell.branch(3).loc(1.0).record()
    cell.branch("all").make_trainable("HH_gNa")
    parameters = cell.get_parameters()
    step = jax.jit(
        jax.value_and_grad(
            lambda p: jx.integrate(cell, params=p, checkpoint_lengths=[11, 11]).mean()
        )
    )
    return lambda: step(parameters)


# --- netket ---------------------------------------------------------------------------------------


@program("netket", tolerance=5e-2, x64=True)
def netket_vmc():
    """Steps of variational Monte Carlo on a transverse-field Ising chain."""
    import netket as nk
    import optax

    graph = nk.graph.Chain(12, pbc=True)
    hilbert = nk.hilbert.Spin(s=0.5, N=12)
    hamiltonian = nk.operator.IsingJax(hilbert, graph, h=1.0)
    sampler = nk.sampler.MetropolisLocal(hilbert, n_chains=16)
    model = nk.models.RBM(alpha=1, param_dtype=float)

    def call():
        state = nk.vqs.MCState(sampler, model, n_samples=256, seed=0, sampler_seed=1)
        driver = nk.driver.VMC(
            hamiltonian,
            optax.sgd(0.05),
            variational_state=state,
            preconditioner=nk.optimizer.SR(diag_shift=0.01),
        )
        driver.run(5, out=None, show_progress=False)
        return driver.energy.mean.real

    return call


# --- spheres --------------------------------------------------------------------------------------


@program("s2fft", tolerance=1e-5, x64=True)
def s2fft_round_trip():
    import jax
    import s2fft

    size = 32
    flm = s2fft.utils.signal_generator.generate_flm(np.random.default_rng(0), size)

    @jax.jit
    def transform(flm):
        f = s2fft.inverse_jax(flm, size)
        return f, s2fft.forward_jax(f, size)

    return lambda: transform(flm)


@program("s2fft", tolerance=1e-5, x64=True)
def s2fft_wigner():
    import jax
    import s2fft

    size, azimuthal = 12, 3
    flmn = s2fft.utils.signal_generator.generate_flmn(np.random.default_rng(0), size, azimuthal)

    @jax.jit
    def transform(flmn):
        f = s2fft.wigner.inverse_jax(flmn, size, azimuthal)
        return f, s2fft.wigner.forward_jax(f, size, azimuthal)

    return lambda: transform(flmn)


# --- robots ---------------------------------------------------------------------------------------


def controller(robot):
    """Joint torques that move the hand towards a target, as an operational space controller."""
    import jax.numpy as jnp

    def torques(q, v, target):
        mass, bias = robot.mass_matrix(q), robot.nonlinear_bias(q, v)
        jacobian = robot.ee_jacobian(q)
        task = jnp.linalg.inv(jacobian @ jnp.linalg.solve(mass, jacobian.T) + 1e-3 * jnp.eye(6))
        error = target - robot.ee_transform(q)[:3, 3]
        wanted = jnp.concatenate([50 * error, jnp.zeros(3)]) - 10 * jacobian @ v
        return jacobian.T @ task @ wanted + bias

    return torques


@program("frax", x64=True)
def frax_controller():
    import frax
    import jax
    import jax.numpy as jnp

    torques = jax.jit(controller(frax.load_panda()))
    q = jnp.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    target = jnp.array([0.5, 0.1, 0.4])
    return lambda: [torques(q, jnp.full(7, 0.01 * i), target) for i in range(20)]


@program("frax", x64=True)
def frax_dynamics_vmapped():
    import frax
    import jax
    import jax.numpy as jnp

    robot = frax.load_panda()

    @jax.jit
    @jax.vmap
    def dynamics(q, v):
        return robot.mass_matrix(q), robot.gravity_vector(q), robot.nonlinear_bias(q, v)

    q, v = jnp.asarray(rng.uniform(-1, 1, (2, 200, 7)))
    return lambda: dynamics(q, v)


# --- spectra and planets --------------------------------------------------------------------------


@program("jnkepler.jaxttv", tolerance=1e-6, x64=True)
def jnkepler_transit_times():
    """Transit times of two planets that perturb each other, and their gradient by the masses."""
    import jax
    import jax.numpy as jnp
    from jnkepler.jaxttv import JaxTTV

    periods, starts = np.array([10.0, 15.2]), np.array([3.0, 5.0])
    seen = [t0 + p * np.arange(int((200 - t0) / p)) for t0, p in zip(starts, periods, strict=True)]
    model = JaxTTV(0.0, 200.0, 0.5, seen, periods, print_info=False)
    parameters = {
        "period": jnp.asarray(periods),
        "ecosw": jnp.array([0.02, -0.01]),
        "esinw": jnp.array([0.0, 0.03]),
        "tic": jnp.asarray(starts),
    }

    @jax.jit
    def times(masses):
        found, _ = model.get_transit_times_obs(parameters | {"pmass": masses})
        return found, jax.grad(
            lambda m: model.get_transit_times_obs(parameters | {"pmass": m})[0].sum()
        )(masses)

    return lambda: times(jnp.array([1e-5, 3e-5]))


@program("exojax.opacity.lpf.lpf", "exojax.rt", x64=True)
def exojax_emission_spectrum():
    """The emission of an atmosphere: Voigt profiles of lines, and the transfer through layers."""
    import jax
    import jax.numpy as jnp
    from exojax.opacity.lpf.lpf import xsmatrix
    from exojax.rt import ArtEmisPure

    grid = np.linspace(4300.0, 4310.0, 500)
    lines = rng.uniform(4300, 4310, 20)
    offsets = jnp.asarray(grid - lines[:, None])
    strengths = jnp.asarray(rng.uniform(0.1, 1, 20))
    art = ArtEmisPure(pressure_top=1e-6, pressure_btm=1e1, nlayer=30, nu_grid=grid)

    @jax.jit
    @jax.value_and_grad
    def loss(parameters):
        temperature, amount = parameters
        profile = temperature * (art.pressure / art.pressure[-1]) ** 0.1
        doppler = 0.01 * jnp.sqrt(profile / 1000)[:, None] * jnp.ones(20)
        lorentz = 0.02 * art.pressure[:, None] * jnp.ones(20) + 1e-4
        sections = xsmatrix(offsets, doppler, lorentz, jnp.ones((30, 1)) * strengths)
        depths = amount * sections * art.pressure[:, None]
        return jnp.log(art.run(depths, profile)).mean()

    return lambda: loss(jnp.array([1200.0, 2.0]))
