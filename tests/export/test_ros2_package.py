"""The generated ROS 2 package: its C++ against stub headers of what it uses, its XML, the names in its CMake.

Building it needs ROS.
"""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import poinsot
from export.generated import ORIGIN, compiler, dynamics_of, run
from poinsot.exceptions import InvalidModel
from poinsot.export.ros2_package import ros2_files
from poinsot.export.routines import Routines
from poinsot.models.efforts import Spring
from references.robots import described

STUBS = {
    "eigen3/Eigen/Core": """#pragma once
namespace Eigen {
struct VectorXd {
  explicit VectorXd(int) {}
  static VectorXd Zero(int n) { return VectorXd(n); }
  double * data() { return nullptr; }
  const double * data() const { return nullptr; }
  VectorXd operator-(const VectorXd &) const { return *this; }
  VectorXd operator+(const VectorXd &) const { return *this; }
};
struct MatrixXd {
  MatrixXd(int, int) {}
  double * data() { return nullptr; }
};
}""",
    "rclcpp/node_interfaces/node_parameters_interface.hpp": """#pragma once
#include <memory>
namespace rclcpp { namespace node_interfaces {
struct NodeParametersInterface { using ConstSharedPtr = std::shared_ptr<const NodeParametersInterface>; };
} }""",
    "inverse_dynamics_solver/inverse_dynamics_solver.hpp": """#pragma once
#include <string>
#include <eigen3/Eigen/Core>
#include <rclcpp/node_interfaces/node_parameters_interface.hpp>
namespace inverse_dynamics_solver {
class InverseDynamicsSolver {
public:
  virtual ~InverseDynamicsSolver() {}
  virtual void initialize(rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr = nullptr,
                          const std::string & = "", const std::string & = "") = 0;
  virtual Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd &) const = 0;
  virtual Eigen::VectorXd getCoriolisVector(const Eigen::VectorXd &, const Eigen::VectorXd &) const = 0;
  virtual Eigen::VectorXd getGravityVector(const Eigen::VectorXd &) const = 0;
  virtual Eigen::VectorXd getFrictionVector(const Eigen::VectorXd &) const = 0;
  virtual Eigen::VectorXd getTorques(const Eigen::VectorXd &, const Eigen::VectorXd &, const Eigen::VectorXd & a) const
  { return a; }
};
}""",
    "pluginlib/class_list_macros.hpp": """#pragma once
#define PLUGINLIB_EXPORT_CLASS(derived, base) base * make() { return new derived; }""",
    "sensor_msgs/msg/joint_state.hpp": """#pragma once
#include <string>
#include <vector>
namespace sensor_msgs { namespace msg {
struct JointState { std::vector<std::string> name; std::vector<double> position, velocity, effort; };
} }""",
    "std_msgs/msg/float64_multi_array.hpp": """#pragma once
#include <vector>
namespace std_msgs { namespace msg { struct Float64MultiArray { std::vector<double> data; }; } }""",
    "rclcpp/rclcpp.hpp": """#pragma once
#include <functional>
#include <memory>
#include <string>
namespace rclcpp {
template<class M> struct Publisher {
  using SharedPtr = std::shared_ptr<Publisher>;
  void publish(const M &) {}
};
template<class M> struct Subscription { using SharedPtr = std::shared_ptr<Subscription>; };
class Node {
public:
  explicit Node(const std::string &) {}
  double declare_parameter(const std::string &, double value) { return value; }
  template<class M> std::shared_ptr<Publisher<M>> create_publisher(const std::string &, int) { return nullptr; }
  template<class M, class F> std::shared_ptr<Subscription<M>> create_subscription(const std::string &, int, F f)
  { std::function<void(const M &)> called = f; return called ? nullptr : nullptr; }
};
inline void init(int, char **) {}
inline void spin(std::shared_ptr<Node>) {}
inline void shutdown() {}
}""",
}
"""Header -> what the package uses of it, as ROS 2 Humble and inverse_dynamics_solver 1.0 declare it."""


@pytest.mark.parametrize("springs", [(), (Spring("elbow_joint"),)])
def test_its_sources_compile(springs, tmp_path, rng):
    robot = described("ur_description/urdf/ur5_robot.urdf", efforts=springs)
    dynamics = dynamics_of(robot, rng.standard_normal(len(robot.parameters)))
    files = ros2_files(Routines(dynamics), "Arm_1", ORIGIN) | {
        f"stubs/{key}": text for key, text in STUBS.items()
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    package = tmp_path / "arm_1_dynamics"
    strict = "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-I../stubs"
    sources = sorted(path.name for path in (package / "src").glob("*.cpp"))
    assert sources == ["gravity_compensation.cpp", "inverse_dynamics_solver.cpp"]
    for source in sources:
        run(compiler("g++"), *strict, f"src/{source}", cwd=package)
        assert ("_springs(" in (package / "src" / source).read_text()) == bool(springs)
    run(
        compiler("gcc"),
        "-std=c99",
        "-Wall",
        "-Werror",
        "-fsyntax-only",
        "-Iinclude",
        "src/Arm_1.c",
        cwd=package,
    )
    cmake = (package / "CMakeLists.txt").read_text()
    assert all((package / name).is_file() for name in re.findall(r"src/\S+?\.c(?:pp)?\b", cmake))
    depends = {
        element.text for element in ElementTree.parse(package / "package.xml").getroot().iter("depend")
    }
    found = {name.lower() for name in re.findall(r"find_package\((\w+)", cmake)}
    assert {name.replace("eigen3", "eigen") for name in found} == depends | {"ament_cmake"}
    plugin = ElementTree.parse(package / "plugin.xml").getroot()
    assert plugin.get("path") == "arm_1_dynamics"
    assert plugin[0].get("type") in (package / "src/inverse_dynamics_solver.cpp").read_text()


def test_every_joint_needs_its_effort():
    robot = described(
        "ur_description/urdf/ur5_robot.urdf", drive=poinsot.Drive(not_measured=("elbow_joint",))
    )
    with pytest.raises(InvalidModel, match="effort of every joint"):
        ros2_files(Routines(dynamics_of(robot, np.ones(len(robot.parameters)))), "arm", ORIGIN)
